// Who plays, from where, with which clock.
import { useState } from 'preact/hooks';
import { node, positionText } from '../analyse/state';
import { MiniBoard } from '../board/MiniBoard';
import { resource } from '../http';
import { has, t, type Key } from '../i18n';
import type { HandicapInfo, Human, Opponent, PlayerInfo, Players } from '../protocol';
import { language } from '../settings';
import { START } from '../shogi/position';
import { connection } from '../socket';
import { Button, Choice, Segments } from '../ui/parts';
import { byKind, levelName, playerName, seatName } from './names';
import { start } from './state';

/** A handicap in the visitor's language; its name in records where it has none. */
const handicapName = (h: HandicapInfo): string => (language.value === 'ja' ? h.kif : has(`handicap.${h.name}`) ? t(`handicap.${h.name}` as Key) : h.name);

const players = resource<Players>('players', { players: [], handicaps: [] });

type Kind = 'none' | 'sudden' | 'byoyomi' | 'fischer';

interface Form {
  color: 'black' | 'white' | 'random' | 'watch';
  level: string;
  player: string;
  other: string;
  otherLevel: string;
  position: string;
  clock: Kind;
  minutes: number;
  seconds: number;
  declaration: '27' | '24' | 'none';
}

const FIRST: Form = { color: 'black', level: '', player: '', other: '', otherLevel: '', position: 'startpos', clock: 'none', minutes: 10, seconds: 30, declaration: '27' };

let kept: Form = FIRST;

function levelsOf(player: PlayerInfo | undefined): (readonly [string, string])[] {
  return (player?.levels ?? []).map((l, i) => [String(i), levelName(l, player!.kind)] as const);
}

function opponent(player: PlayerInfo, level: string): Opponent {
  const chosen = player.levels[Number(level)] ?? player.levels.at(-1);
  const name = seatName(player, chosen);
  if (player.kind === 'ladder') return { kind: 'engine', player: player.id, elo: chosen?.elo ?? null, name };
  return { kind: 'engine', player: player.id, playouts: chosen?.playouts ?? null, temperature: chosen?.temperature ?? 0, name };
}

/** The level to begin with: neither the weakest nor the strongest. */
const middle = (player: PlayerInfo | undefined): string => String(Math.floor(((player?.levels.length ?? 1) - 1) / 2));

function Strength({ label, player, level, onPlayer, onLevel }: { label: string; player?: PlayerInfo; level: string; onPlayer: (id: string) => void; onLevel: (level: string) => void }) {
  const levels = levelsOf(player);
  return (
    <fieldset class="strength">
      <legend>{label}</legend>
      <label class="choice">
        <span>{t('play.player')}</span>
        <select value={player?.id ?? ''} onChange={e => onPlayer(e.currentTarget.value)}>
          {byKind(players.value.players).map(([heading, all]) => (
            <optgroup key={heading} label={heading}>
              {all.map(p => (
                <option key={p.id} value={p.id}>
                  {playerName(p)}
                </option>
              ))}
            </optgroup>
          ))}
        </select>
      </label>
      {levels.length > 1 && (
        <label class="level">
          <span>
            {t('play.strength')}: <b>{levels[Number(level)]?.[1]}</b>
          </span>
          <input type="range" min={0} max={levels.length - 1} value={level} aria-valuetext={levels[Number(level)]?.[1]} onInput={e => onLevel(e.currentTarget.value)} />
        </label>
      )}
    </fieldset>
  );
}

export function NewGame({ onStart, onBack }: { onStart: () => void; onBack?: () => void }) {
  const [form, setForm] = useState(kept);
  const set = (change: Partial<Form>) => setForm((kept = { ...form, ...change }));
  const { players: all, handicaps } = players.value;
  const player = all.find(p => p.id === form.player) ?? all[0];
  const other = all.find(p => p.id === form.other) ?? all[0];
  const level = form.level || middle(player);
  const otherLevel = form.otherLevel || middle(other);
  const here = positionText(node.value);
  const problem = players.error.value || (connection.welcome.value?.problem && t('noNetwork'));
  const sfen = form.position === 'startpos' ? START : form.position === 'here' ? node.value.sfen : form.position.replace(/^sfen /, '');

  const begin = () => {
    if (!player || !other) return;
    const me: Human = { kind: 'human', name: t('play.me') };
    const engine = opponent(player, level);
    const side = form.color === 'random' ? (Math.random() < 0.5 ? 'black' : 'white') : form.color;
    const [black, white] = side === 'watch' ? [engine, opponent(other, otherLevel)] : side === 'black' ? [me, engine] : [engine, me];
    const main_ms = form.minutes * 60_000;
    const extra = form.seconds * 1000;
    start({
      type: 'game_start',
      black,
      white,
      position: form.position === 'here' ? here : form.position,
      clock: form.clock === 'none' ? null : { main_ms, byoyomi_ms: form.clock === 'byoyomi' ? extra : 0, increment_ms: form.clock === 'fischer' ? extra : 0 },
      declaration: form.declaration,
    });
    onStart();
  };

  return (
    <section class="card new-game">
      <h2>{t('play.new')}</h2>
      {problem && <p class="problem">{problem}</p>}
      <div class="new-game-body">
        <div class="new-game-form">
          <Segments
            isLabelled
            label={t('play.color')}
            value={form.color}
            options={[
              ['black', `▲ ${t('color.black')}`],
              ['white', `△ ${t('color.white')}`],
              ['random', t('play.random')],
              ['watch', t('play.watch')],
            ]}
            onChange={color => set({ color })}
          />
          <Strength label={form.color === 'watch' ? `▲ ${t('color.black')}` : t('play.opponent')} player={player} level={level} onPlayer={id => set({ player: id, level: '' })} onLevel={l => set({ level: l })} />
          {form.color === 'watch' && <Strength label={`△ ${t('color.white')}`} player={other} level={otherLevel} onPlayer={id => set({ other: id, otherLevel: '' })} onLevel={l => set({ otherLevel: l })} />}
          <Choice
            label={t('play.position')}
            value={form.position}
            options={[['startpos', t('handicap.even')], ...handicaps.filter(h => h.name !== 'even').map(h => [h.position, handicapName(h)] as const), ['here', t('play.here')]]}
            onChange={position => set({ position })}
          />
          <Segments<Kind>
            isLabelled
            label={t('play.clock')}
            value={form.clock}
            options={[
              ['none', t('clock.none')],
              ['sudden', t('clock.sudden')],
              ['byoyomi', t('clock.byoyomi')],
              ['fischer', t('clock.fischer')],
            ]}
            onChange={clock => set({ clock })}
          />
          {form.clock !== 'none' && (
            <div class="row">
              <Choice label={t('clock.minutes')} value={form.minutes} options={[0, 1, 3, 5, 10, 15, 20, 30, 60].map(n => [n, String(n)] as const)} onChange={minutes => set({ minutes })} />
              {form.clock !== 'sudden' && <Choice label={t('clock.seconds')} value={form.seconds} options={[1, 2, 3, 5, 10, 20, 30, 60].map(n => [n, String(n)] as const)} onChange={seconds => set({ seconds })} />}
            </div>
          )}
          <Choice label={t('play.declaration')} value={form.declaration} options={[['27', t('declaration.27')], ['24', t('declaration.24')], ['none', t('off')]]} onChange={declaration => set({ declaration })} />
          <div class="row">
            <Button icon="play" isWide class="primary" label={t('play.start')} disabled={!player || (form.clock === 'sudden' && !form.minutes)} onClick={begin} />
            {onBack && <Button isWide label={t('cancel')} onClick={onBack} />}
          </div>
        </div>
        <div class="new-game-board">
          <MiniBoard sfen={sfen} orientation={form.color === 'white' ? 'gote' : 'sente'} />
        </div>
      </div>
    </section>
  );
}
