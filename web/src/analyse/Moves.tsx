// The move list with variations and comments.
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { percent, t } from '../i18n';
import { notation } from '../settings';
import { gradeOf, lossOf, MARKS, type Grade } from '../shogi/grades';
import { blackWinRate, continuation, variations, type Node } from '../shogi/tree';
import { memo } from '../ui/memo';
import { Button, Menu } from '../ui/parts';
import { back, edited, forward, game, go, hidesEngine, node, orientation, promote, remove, scored, toEnd, toStart, version } from './state';
import { endingText, nodeText } from './words';

interface MoveProps {
  ply: number;
  text: string;
  isCurrent: boolean;
  rate: string;
  share: number;
  grade: Grade | '';
  time: string;
  comment: string;
  onGo: () => void;
}

const moveKey = (p: MoveProps) => [p.ply, p.text, p.isCurrent, p.rate, p.grade, p.time, p.comment].join('|');
const propsCache = new WeakMap<Node, { key: string; props: MoveProps }>();

/** Returns the previous props object if nothing shown has changed, so that `memo` skips the row. */
function stableProps(at: Node, props: MoveProps): MoveProps {
  const key = moveKey(props);
  const known = propsCache.get(at);
  if (known?.key === key) return known.props;
  propsCache.set(at, { key, props });
  return props;
}

const Move = memo(function Move({ move }: { move: MoveProps }) {
  return (
    <button type="button" class={`move ${move.isCurrent ? 'current' : ''} ${move.grade}`} aria-current={move.isCurrent ? 'step' : undefined} onClick={move.onGo}>
      <span class="ply">{move.ply || ''}</span>
      <span class="san">
        {move.text}
        {move.grade && <em title={t(`grade.${move.grade}`)}>{MARKS[move.grade]}</em>}
      </span>
      {move.time && <span class="time">{move.time}</span>}
      {move.rate && (
        <span class="rate">
          <i style={{ width: `${100 * move.share}%` }} />
          <b>{move.rate}</b>
        </span>
      )}
    </button>
  );
});

function moveProps(at: Node): MoveProps {
  const rate = hidesEngine.value ? undefined : blackWinRate(at);
  const loss = hidesEngine.value ? undefined : lossOf(at);
  return stableProps(at, {
    ply: at.ply,
    text: nodeText(at),
    isCurrent: at === node.value,
    rate: rate === undefined ? '' : percent(rate),
    share: rate ?? 0,
    grade: (loss !== undefined && gradeOf(loss)) || '',
    time: at.timeMs ? `${Math.floor(at.timeMs / 60000)}:${String(Math.floor(at.timeMs / 1000) % 60).padStart(2, '0')}` : '',
    comment: at.comment,
    onGo: () => go(at),
  });
}

/** A variation as inline text, with its subvariations in parentheses. */
function Variation({ from }: { from: Node }) {
  void version.value;
  const items = [];
  for (let at: Node | undefined = from; at; at = continuation(at)) {
    const here: Node = at;
    items.push(
      <button
        key={here.id}
        type="button"
        class={here === node.value ? 'inline current' : 'inline'}
        aria-current={here === node.value ? 'step' : undefined}
        onClick={() => go(here)}
      >
        {here === from || (here.ply % 2 === 1 && notation() !== 'japanese') ? <span class="ply">{here.ply}.</span> : null}
        {nodeText(here)}
      </button>,
    );
    if (here.comment) items.push(<span key={`c${here.id}`} class="inline-comment">{here.comment}</span>);
    if (here.ending?.isFirst) items.push(<span key={`e${here.id}`} class="inline-comment">{endingText(here.ending.text, here.sfen, game.value.initialSfen)}</span>);
    for (const other of variations(here))
      items.push(
        <span key={`v${other.id}`} class="sub">
          (<Variation from={other} />)
        </span>,
      );
  }
  return <>{items}</>;
}

export function MoveList() {
  void version.value;
  void scored.value;
  const { root } = game.value;
  const list = useRef<HTMLDivElement>(null);
  const isInSight = useRef(true);
  /** How far the current move is below the middle of the list if it is out of sight or near an edge, else 0. */
  const offCentre = (margin: number): number => {
    const current = list.current?.querySelector('.current');
    if (!current) return 0;
    const [a, b] = [current.getBoundingClientRect(), list.current!.getBoundingClientRect()];
    return a.top < b.top + margin || a.bottom > b.bottom - margin ? a.top - b.top - b.height / 2 : 0;
  };
  const show = () => {
    const offset = offCentre(30);
    if (offset) list.current!.scrollTop += offset;
    isInSight.current = true;
  };
  useEffect(show, [node.value]);
  // The panels above grow when a search begins; who has scrolled away stays there.
  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => isInSight.current && show());
    observer.observe(list.current!);
    return () => observer.disconnect();
  }, []);
  const rows = [<Move key={root.id} move={moveProps(root)} />];
  if (root.comment) rows.push(<p key="c0" class="comment">{root.comment}</p>);
  for (let at: Node | undefined = root; at; at = continuation(at)) {
    const main = continuation(at);
    const others = variations(at);
    if (main) rows.push(<Move key={main.id} move={moveProps(main)} />);
    if (main?.comment) rows.push(<p key={`c${main.id}`} class="comment">{main.comment}</p>);
    if (others.length)
      rows.push(
        <div key={`o${others[0].id}`} class="variations">
          {others.map(other => (
            <div key={other.id} class="variation">
              <Variation from={other} />
            </div>
          ))}
        </div>,
      );
  }
  const { ending, result } = game.value;
  if (ending) rows.push(<p key="end" class="ending">{endingText(ending, game.value.mainLine().at(-1)!.sfen, game.value.initialSfen, result)}</p>);
  return (
    <div ref={list} class="move-list" role="region" aria-label={t('moves')} tabIndex={-1} onScroll={() => (isInSight.current = !offCentre(0))}>
      {rows}
    </div>
  );
}

export function Controls() {
  const at = node.value;
  void version.value;
  return (
    <div class="controls" role="toolbar" aria-label={t('moves')}>
      <Button icon="first" label={t('go.start')} keys="Home" onClick={toStart} disabled={!at.parent} />
      <Button icon="back" label={t('go.back')} keys="ArrowLeft" onClick={back} disabled={!at.parent} />
      <Button icon="forward" label={t('go.forward')} keys="ArrowRight" onClick={forward} disabled={!at.children.length} />
      <Button icon="last" label={t('go.end')} keys="End" onClick={toEnd} disabled={!at.children.length} />
      <Button icon="flip" label={t('flip')} keys="f" onClick={() => (orientation.value = orientation.value === 'sente' ? 'gote' : 'sente')} />
      <Menu
        icon="more"
        label={t('move.menu')}
        class="up"
        items={[
          { label: t('move.promote'), icon: 'up', disabled: !at.parent, onClick: () => promote(at) },
          { label: t('move.delete'), icon: 'trash', keys: 'Del', disabled: !at.parent, onClick: () => remove(at) },
        ]}
      />
    </div>
  );
}

export function CommentBox() {
  void version.value;
  const at = node.value;
  return (
    <label class="comment-box">
      <span class="unseen">{t('comment')}</span>
      <textarea
        id="comment"
        rows={2}
        placeholder={t('comment.write')}
        value={at.comment}
        onInput={e => {
          at.comment = e.currentTarget.value;
          edited();
        }}
      />
    </label>
  );
}
