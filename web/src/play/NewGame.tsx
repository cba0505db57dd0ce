// Settings of a new game: players, starting position, clock.
import { useState } from 'preact/hooks';
import { node, positionText } from '../analyse/state';
import { MiniBoard } from '../board/MiniBoard';
import { resource } from '../http';
import { has, t, type Key } from '../i18n';
import type { HandicapInfo, Human, Level, Opponent, PlayerInfo, Players } from '../protocol';
import { language } from '../settings';
import { sideText } from '../shogi/handicaps';
import { START } from '../shogi/position';
import { Button, Choice, Segments, Switch } from '../ui/parts';
import { byKind, levelName, playerName, seatName } from './names';
import { start } from './state';

/** A handicap's display name; in Japanese, the one used in KIF records. */
const handicapName = (h: HandicapInfo): string => (language.value === 'ja' ? h.kif : has(`handicap.${h.name}`) ? t(`handicap.${h.name}` as Key) : h.name);

const players = resource<Players>('players', { players: [], handicaps: [] });

type Kind = 'none' | 'sudden' | 'byoyomi' | 'fischer';

/** A strength set by numbers instead of one of the player's levels. */
interface CustomStrength {
  playouts: number;
  temperature: number;
}

interface Form {
  color: 'black' | 'white' | 'random' | 'watch';
  level: string;
  custom?: CustomStrength;
  player: string;
  other: string;
  otherLevel: string;
  otherCustom?: CustomStrength;
  position: string;
  clock: Kind;
  minutes: number;
  seconds: number;
  declaration: '27' | '24' | 'none';
}

const DEFAULTS: Form = { color: 'black', level: '', player: '', other: '', otherLevel: '', position: 'startpos', clock: 'none', minutes: 10, seconds: 30, declaration: '27' };

let lastForm: Form = DEFAULTS;

function levelsOf(player: PlayerInfo | undefined): (readonly [string, string])[] {
  return (player?.levels ?? []).map((l, i) => [String(i), levelName(l, player!.kind)] as const);
}

const MAX_PLAYOUTS = 10_000_000;
const clamp = (value: number, min: number, max: number): number => (Number.isFinite(value) ? Math.min(max, Math.max(min, value)) : min);

/** Clamps custom values to the server's limits and drops those that the player doesn't support. */
const customLevel = (player: PlayerInfo, custom: CustomStrength): Level => ({
  label: '',
  playouts: player.takes_playouts ? Math.round(clamp(custom.playouts, 1, MAX_PLAYOUTS)) : null,
  temperature: player.takes_temperature ? clamp(custom.temperature, 0, 10) : 0,
  elo: null,
  elo_error: null,
});

function opponent(player: PlayerInfo, level: string, custom: CustomStrength | undefined): Opponent {
  const chosen = custom ? customLevel(player, custom) : (player.levels[Number(level)] ?? player.levels.at(-1));
  const name = seatName(player, chosen);
  if (player.kind === 'ladder') return { kind: 'engine', player: player.id, elo: chosen?.elo ?? null, name };
  return { kind: 'engine', player: player.id, playouts: chosen?.playouts ?? null, temperature: chosen?.temperature ?? 0, name };
}

/** The default level: neither the weakest nor the strongest. */
const defaultLevel = (player: PlayerInfo | undefined): string => String(Math.floor(((player?.levels.length ?? 1) - 1) / 2));

interface StrengthProps {
  label: string;
  player?: PlayerInfo;
  level: string;
  custom?: CustomStrength;
  onPlayer: (id: string) => void;
  onLevel: (level: string) => void;
  onCustom: (custom: CustomStrength | undefined) => void;
}

function Strength({ label, player, level, custom, onPlayer, onLevel, onCustom }: StrengthProps) {
  const levels = levelsOf(player);
  const number = (text: Key, name: keyof CustomStrength, max: number, step: number) => (
    <label class="choice">
      <span>{t(text)}</span>
      <input type="number" min={name === 'playouts' ? 1 : 0} max={max} step={step} value={custom![name]} onChange={e => onCustom({ ...custom!, [name]: e.currentTarget.valueAsNumber })} />
    </label>
  );
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
      {levels.length > 1 && !custom && (
        <label class="level">
          <span>
            {t('play.strength')}: <b>{levels[Number(level)]?.[1]}</b>
          </span>
          <input type="range" min={0} max={levels.length - 1} value={level} aria-valuetext={levels[Number(level)]?.[1]} onInput={e => onLevel(e.currentTarget.value)} />
        </label>
      )}
      {(player?.takes_playouts || player?.takes_temperature) && (
        <>
          <Switch label={t('play.own')} checked={!!custom} onChange={on => onCustom(on ? { playouts: player.levels[Number(level)]?.playouts ?? 800, temperature: player.levels[Number(level)]?.temperature ?? 0 } : undefined)} />
          {custom && (
            <div class="row">
              {player.takes_playouts && number(player.kind === 'model' ? 'study.nodes' : 'study.alphaBetaNodes', 'playouts', MAX_PLAYOUTS, 1)}
              {player.takes_temperature && number('play.temperature', 'temperature', 10, 0.1)}
            </div>
          )}
        </>
      )}
    </fieldset>
  );
}

export function NewGame({ onStart, onBack }: { onStart: () => void; onBack?: () => void }) {
  const [form, setForm] = useState(lastForm);
  const set = (change: Partial<Form>) => setForm((lastForm = { ...form, ...change }));
  const { players: all, handicaps } = players.value;
  const player = all.find(p => p.id === form.player) ?? all[0];
  const other = all.find(p => p.id === form.other) ?? all[0];
  const level = form.level || defaultLevel(player);
  const otherLevel = form.otherLevel || defaultLevel(other);
  const here = positionText(node.value);
  const problem = players.error.value;
  const sfen = form.position === 'startpos' ? START : form.position === 'here' ? node.value.sfen : form.position.replace(/^sfen /, '');

  const startGame = () => {
    if (!player || !other) return;
    const me: Human = { kind: 'human', name: t('play.me') };
    const engine = opponent(player, level, form.custom);
    const side = form.color === 'random' ? (Math.random() < 0.5 ? 'black' : 'white') : form.color;
    const [black, white] = side === 'watch' ? [engine, opponent(other, otherLevel, form.otherCustom)] : side === 'black' ? [me, engine] : [engine, me];
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
              ['black', `▲ ${sideText('color', 'black', form.position)}`],
              ['white', `△ ${sideText('color', 'white', form.position)}`],
              ['random', t('play.random')],
              ['watch', t('play.watch')],
            ]}
            onChange={color => set({ color })}
          />
          <Strength label={form.color === 'watch' ? `▲ ${sideText('color', 'black', form.position)}` : t('play.opponent')} player={player} level={level} custom={form.custom} onPlayer={id => set({ player: id, level: '', custom: undefined })} onLevel={l => set({ level: l })} onCustom={custom => set({ custom })} />
          {form.color === 'watch' && <Strength label={`△ ${sideText('color', 'white', form.position)}`} player={other} level={otherLevel} custom={form.otherCustom} onPlayer={id => set({ other: id, otherLevel: '', otherCustom: undefined })} onLevel={l => set({ otherLevel: l })} onCustom={otherCustom => set({ otherCustom })} />}
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
            <Button icon="play" isWide class="primary" label={t('play.start')} disabled={!player || (form.clock === 'sudden' && !form.minutes)} onClick={startGame} />
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
