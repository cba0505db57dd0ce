// The open games: list, player names, headers.
import { useEffect, useRef, useState } from 'preact/hooks';
import { percent, t } from '../i18n';
import { sideText } from '../shogi/handicaps';
import { mistakes } from '../shogi/grades';
import type { GameTree, Headers } from '../shogi/tree';
import { Button, Dialog, Progress } from '../ui/parts';
import { closeGame, edited, game, gameIndex, games, hasUnsaved, scored, selectGame, version } from './state';
import { isStudying, startStudy, statuses, stopStudy, study, studyable } from './study';

export const titleOf = (tree: GameTree): string => {
  const { black, white } = tree.headers;
  return black || white ? `${black ?? '?'} – ${white ?? '?'}` : tree.name || t('game.unnamed');
};

/** The list of games, if there are several. */
export function GameTabs() {
  void version.value;
  void scored.value;
  const list = useRef<HTMLOListElement>(null);
  useEffect(() => {
    const [all, current] = [list.current, list.current?.children[gameIndex.value] as HTMLElement | undefined];
    if (!all || !current) return;
    const [a, b] = [current.getBoundingClientRect(), all.getBoundingClientRect()];
    if (a.top < b.top || a.bottom > b.bottom) all.scrollTop += a.top - b.top - (b.height - a.height) / 2;
  }, [gameIndex.value, games.value.length]);
  if (games.value.length < 2) return null;
  return (
    <section class="game-tabs" aria-label={t('games')}>
      <header>
        <b>{t('games.n', { n: games.value.length })}</b>
        {isStudying() ? (
          <Button icon="stop" isWide label={t('stop')} onClick={stopStudy} />
        ) : (
          <Button icon="chart" isWide label={t('study.all')} disabled={!studyable().length} onClick={() => void startStudy(studyable())} />
        )}
      </header>
      {isStudying() && <Progress done={study.value!.done} total={study.value!.total} label={t('study.progress')} />}
      <ol ref={list}>
        {games.value.map((tree, i) => {
          const status = statuses.value.get(tree);
          const n = mistakes(tree.mainLine()).length;
          return (
            <li key={i} class={i === gameIndex.value ? 'current' : ''}>
              <button type="button" aria-current={i === gameIndex.value} onClick={() => selectGame(i)}>
                <span>{titleOf(tree)}</span>
                <small>
                  {status && status.done < status.total ? percent(status.done / status.total) : status ? t('mistakes.n', { n }) : t('plies.n', { n: tree.mainLine().length - 1 })}
                </small>
              </button>
              <Button icon="close" label={`${t('close')}: ${titleOf(tree)}`} onClick={() => (!hasUnsaved([tree]) || confirm(t('game.confirmClose'))) && closeGame(i)} />
            </li>
          );
        })}
      </ol>
    </section>
  );
}

export function PlayerName({ side }: { side: 'sente' | 'gote' }) {
  void version.value;
  const { headers } = game.value;
  const name = side === 'sente' ? headers.black : headers.white;
  return (
    <span class={`player-name ${side}`}>
      <i aria-hidden="true">{side === 'sente' ? '▲' : '△'}</i>
      {name || sideText('color', side, game.value.initialSfen)}
    </span>
  );
}

const FIELDS: readonly (keyof Headers)[] = ['black', 'white', 'event', 'date', 'place', 'timeControl'];

export function HeadersDialog({ onClose }: { onClose: () => void }) {
  const [values, setValues] = useState<Headers>({ ...game.value.headers });
  return (
    <Dialog title={t('headers')} onClose={onClose}>
      <form
        onSubmit={e => {
          e.preventDefault();
          game.value.headers = Object.fromEntries(Object.entries(values).filter(([, v]) => v));
          edited();
          onClose();
        }}
      >
        {FIELDS.map(name => (
          <label key={name} class="field">
            <span>{sideText('headers', name, game.value.initialSfen)}</span>
            <input maxLength={200} value={values[name] ?? ''} onInput={e => setValues({ ...values, [name]: e.currentTarget.value })} />
          </label>
        ))}
        <footer>
          <Button isWide isSubmit class="primary" label={t('ok')} />
        </footer>
      </form>
    </Dialog>
  );
}
