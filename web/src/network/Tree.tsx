// The search tree explorer.
import { useEffect, useState } from 'preact/hooks';
import { node, play, playLine, searched } from '../analyse/state';
import { scoreText } from '../analyse/words';
import { MiniBoard } from '../board/MiniBoard';
import { count, percent, t } from '../i18n';
import { notation } from '../settings';
import { lineOf, moveText, lastSquare } from '../shogi/notation';
import { parsePosition, positionKey } from '../shogi/position';
import { Button } from '../ui/parts';
import { useTree } from './ask';

export function TreeView() {
  const at = node.value;
  const [path, setPath] = useState<string[]>([]);
  useEffect(() => setPath([]), [at]);
  // While the search runs, refetch the node every two seconds.
  const stamp = searched.value?.state === 'running' ? Math.floor((searched.value.time_ms ?? 0) / 2000) : (searched.value?.nodes ?? 0);
  const { answer: here, error } = useTree(path, stamp);
  const walked = lineOf(at.sfen, path, notation(), at.usi);
  const sfen = walked.at(-1)?.sfen ?? at.sfen;
  const pos = parsePosition(sfen);
  const lastUsi = path.at(-1) ?? at.usi;
  // The tree stays that of the last search while the board moves on.
  const isHere = here && here.path.join() === path.join() && positionKey(here.sfen) === positionKey(sfen);
  const total = isHere ? here.visits : 0;
  return (
    <div class="tree-view">
      <nav aria-label={t('network.tree')} class="crumbs">
        <button type="button" onClick={() => setPath([])}>
          {t('tree.root')}
        </button>
        {walked.map((m, i) => (
          <button key={i} type="button" aria-current={i === walked.length - 1 ? 'step' : undefined} onClick={() => setPath(path.slice(0, i + 1))}>
            {m.text}
          </button>
        ))}
      </nav>
      {error && <p class="hint">{error}</p>}
      <div class="tree-here">
        <div class="tree-board">
          <MiniBoard sfen={sfen} lastUsi={lastUsi} />
          {path.length > 0 && <Button isWide label={t('tree.play')} onClick={() => (path.length > 1 ? playLine(at, path) : play(path[0]))} />}
        </div>
        {isHere && here.found ? (
          <div>
            <p class="tree-facts">
              {t('tree.facts', {
                visits: count(here.visits),
                value: here.value === null ? '–' : percent(here.value, 1),
                network: here.network_value === null ? '–' : percent(here.network_value, 1),
              })}{' '}
              {here.proof !== 'none' && <em class={`proof ${here.proof}`}>{scoreText(null, here.proof === 'win' ? here.proof_plies : -here.proof_plies)}</em>}
            </p>
            <ol class="tree-moves">
              {here.moves.slice(0, 14).map(m => (
                <li key={m.move}>
                  <button type="button" onClick={() => setPath([...path, m.move])} disabled={!m.visits}>
                    <b>{pos ? moveText(pos, m.move, notation(), lastSquare(lastUsi)) : m.move}</b>
                    <span class="tree-bar">
                      <i class="bar visits" style={{ width: `${(100 * m.visits) / Math.max(1, total)}%` }} />
                    </span>
                    <span>{count(m.visits)}</span>
                    <span>{m.value === null ? '–' : percent(m.value, 1)}</span>
                    <small>{percent(m.prior, 1)}</small>
                  </button>
                </li>
              ))}
            </ol>
            {here.total_moves > 14 && <p class="hint">{t('tree.more', { n: here.total_moves - 14 })}</p>}
          </div>
        ) : (
          <p class="empty">{t('tree.nothing')}</p>
        )}
      </div>
    </div>
  );
}
