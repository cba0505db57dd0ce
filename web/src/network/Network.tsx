// The network screen: policy, search candidates, search tree, inputs and attention.
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { Dialogs, Stage } from '../analyse/Analyse';
import { SearchToggle } from '../analyse/Lines';
import { Controls } from '../analyse/Moves';
import { heat, node, play, searched } from '../analyse/state';
import { nodeText, scoreText } from '../analyse/words';
import { count, percent, t } from '../i18n';
import { chosenModel, models } from '../models';
import type { Candidate, NetworkAnswer } from '../protocol';
import { notation } from '../settings';
import { lastSquare, moveText } from '../shogi/notation';
import { parsePosition } from '../shogi/position';
import { ModelChoice } from '../ui/ModelChoice';
import { Panel, Segments } from '../ui/parts';
import { Typed } from '../ui/Typed';
import { useNetwork } from './ask';
import { AttentionView } from './Attention';
import { Checkpoints } from './Checkpoints';
import { Compare } from './Compare';
import { PlanesView } from './Planes';
import { TreeView } from './Tree';
import { summarise } from './words';

type Order = 'policy' | 'visits' | 'prior' | 'value';
const order = signal<Order>('visits');
type HeatKind = 'off' | 'from' | 'to';
const heatKind = signal<HeatKind>('to');

/** Returns a formatter for moves in the current position. */
export function useMoveName(): (usi: string) => string {
  const at = node.value;
  const pos = parsePosition(at.sfen);
  const style = notation();
  const known = new Map<string, string>();
  return usi => {
    let text = known.get(usi);
    if (text === undefined) known.set(usi, (text = pos ? moveText(pos, usi, style, lastSquare(at.usi)) : usi));
    return text;
  };
}

interface Row {
  move: string;
  /** The raw policy; `prior` is the policy at the search's policy temperature. */
  policy: number;
  prior: number;
  visits: number;
  value: number | null;
  proof: Candidate['proof'];
  plies: number;
}

/** The search's candidates or, without a search, the policy's moves. */
export function rowsOf(network: NetworkAnswer | undefined, candidates: readonly Candidate[], by: Order): Row[] {
  const policy = new Map(network?.policy.map(m => [m.move, m.p]));
  const rows: Row[] = candidates.length
    ? candidates.map(c => ({ move: c.move, policy: policy.get(c.move) ?? 0, prior: c.prior, visits: c.visits, value: c.value, proof: c.proof, plies: c.proof_plies }))
    : (network?.policy ?? []).map(m => ({ move: m.move, policy: m.p, prior: m.p, visits: 0, value: null, proof: 'none', plies: 0 }));
  const key = { policy: (r: Row) => r.policy, visits: (r: Row) => r.visits, prior: (r: Row) => r.prior, value: (r: Row) => r.value ?? -1 }[by];
  return rows.sort((a, b) => key(b) - key(a) || b.prior - a.prior);
}

function Bar({ share, kind }: { share: number; kind: string }) {
  return <i class={`bar ${kind}`} style={{ width: `${(100 * Math.min(1, share)).toFixed(1)}%` }} />;
}

function Candidates({ network }: { network?: NetworkAnswer }) {
  const found = searched.value;
  const rows = rowsOf(network, found?.candidates ?? [], order.value).slice(0, 20);
  const name = useMoveName();
  const visits = found?.root_visits ?? 0;
  const mostPolicy = Math.max(0.001, ...rows.map(r => r.policy));
  const mostPrior = Math.max(0.001, ...rows.map(r => r.prior));
  const mostVisits = Math.max(1, ...rows.map(r => r.visits));
  if (!rows.length) return <p class="empty">{t('network.nothing')}</p>;
  return (
    <div class="table-wrap">
      <table class="table candidates">
        <thead>
          <tr>
            <th scope="col">{t('move')}</th>
            {(['policy', 'prior', 'visits', 'value'] as const).map(by => (
              <th key={by} scope="col" class="n" title={t(`candidates.${by}.hint`)} aria-sort={order.value === by ? 'descending' : undefined}>
                <button type="button" class="sorter" onClick={() => (order.value = by)}>
                  {t(`candidates.${by}`)}
                  {order.value === by ? ' ▾' : ''}
                </button>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(r => (
            <tr key={r.move}>
              <th scope="row">
                <button type="button" class="move-link" onClick={() => play(r.move)}>
                  {name(r.move)}
                </button>
                {r.proof !== 'none' && <em class={`proof ${r.proof}`}>{r.proof === 'draw' ? t('proof.draw') : scoreText(null, r.proof === 'win' ? r.plies : -r.plies)}</em>}
              </th>
              <td class="n">
                <Bar kind="policy" share={r.policy / mostPolicy} />
                {percent(r.policy, 1)}
              </td>
              <td class="n">
                <Bar kind="prior" share={r.prior / mostPrior} />
                {percent(r.prior, 1)}
              </td>
              <td class="n">
                <Bar kind="visits" share={r.visits / mostVisits} />
                {visits ? `${count(r.visits)} · ${percent(r.visits / visits, 1)}` : '–'}
              </td>
              <td class="n">
                <Bar kind="value" share={r.value ?? 0} />
                {r.value === null ? '–' : percent(r.value, 1)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Words({ network }: { network?: NetworkAnswer }) {
  const found = searched.value;
  const name = useMoveName();
  const candidates = [...(found?.candidates ?? [])].sort((a, b) => b.visits - a.visits);
  const summary = summarise(network, candidates, found?.win_rate, found?.root_visits ?? 0, name);
  if (!summary) return <p class="empty">{t('network.nothing')}</p>;
  return (
    <div class="words">
      <p class="words-head">{summary.head}</p>
      {summary.parts.map((p, i) => (
        <p key={i}>{p}</p>
      ))}
    </div>
  );
}

function HeatMap({ network }: { network?: NetworkAnswer }) {
  const kind = heatKind.value;
  useEffect(() => {
    const squares = !network || kind === 'off' ? undefined : kind === 'from' ? network.from_squares : network.to_squares;
    const most = Math.max(1e-9, ...(squares ?? []));
    heat.value = squares?.map(p => (p < 0.004 ? 0 : Math.sqrt(p / most)));
  }, [network, kind]);
  const drops = Object.entries(network?.drops ?? {}).filter(([, p]) => p >= 0.001);
  return (
    <div class="heat-map">
      <Segments<HeatKind>
        label={t('heat')}
        value={kind}
        options={[
          ['to', t('heat.to')],
          ['from', t('heat.from')],
          ['off', t('off')],
        ]}
        onChange={v => (heatKind.value = v)}
      />
      <p class="hint">{t(kind === 'from' ? 'heat.from.hint' : 'heat.to.hint')}</p>
      {drops.length > 0 && (
        <dl class="drops">
          {drops.map(([piece, p]) => (
            <div key={piece}>
              <dt>{t(`drop.${piece}` as never)}</dt>
              <dd>
                <Bar kind="prior" share={p} />
                {percent(p, 1)}
              </dd>
            </div>
          ))}
        </dl>
      )}
      {network && network.legal_mass !== null && network.legal_mass < 0.999 && <p class="hint">{t('heat.legal', { p: percent(network.legal_mass, 1) })}</p>}
    </div>
  );
}

export function Network() {
  const model = chosenModel.value?.id ?? '';
  const { answer: network, error } = useNetwork(model);
  const isCurrent = network && !error;
  useEffect(() => () => void (heat.value = undefined), []);
  const hasAttention = models.value.some(m => m.has_attention);
  return (
    <main class="screen analyse inside">
      <h1 class="unseen">{t('nav.network')}</h1>
      <Stage />
      <div class="panels">
        <div class="inside-bar">
          <SearchToggle />
          <ModelChoice />
          <span class="here">{node.value.ply ? `${node.value.ply} ${nodeText(node.value)}` : t('start')}</span>
          {chosenModel.value && <small>{[chosenModel.value.net, chosenModel.value.features, chosenModel.value.labels].filter(Boolean).join(' · ')}</small>}
        </div>
        {error && <p class="problem">{error}</p>}
        <Panel name="words" title={t('network.words')}>
          <Words network={isCurrent ? network : undefined} />
        </Panel>
        <Panel name="candidates" title={t('network.candidates')}>
          <Candidates network={isCurrent ? network : undefined} />
        </Panel>
        <Panel name="heat" title={t('heat')}>
          <HeatMap network={isCurrent ? network : undefined} />
        </Panel>
        <Panel name="tree" title={t('network.tree')} isOpenAtFirst={false}>
          <TreeView />
        </Panel>
        <Panel name="checkpoints" title={t('network.checkpoints')} isOpenAtFirst={false}>
          <Checkpoints />
        </Panel>
        <Panel name="compare" title={t('network.compare')} isOpenAtFirst={false}>
          <Compare />
        </Panel>
        <Panel name="planes" title={t('network.planes')} isOpenAtFirst={false}>
          <PlanesView model={model} />
        </Panel>
        <Panel name="attention" title={t('network.attention')} isOpenAtFirst={false}>
          {hasAttention ? <AttentionView /> : <p class="empty">{t('attention.none')}</p>}
        </Panel>
        <div class="card foot">
          <Typed onMove={play} sfen={node.value.sfen} lastUsi={node.value.usi} />
          <Controls />
        </div>
      </div>
      <Dialogs />
    </main>
  );
}
