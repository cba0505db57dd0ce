// Synthesised sounds: a piece placed on the board, and the last seconds of a clock.
import { isSoundOn } from '../settings';

let audio: AudioContext | undefined;

/** Browsers block audio before the first user gesture; until then there is no context. */
function context(): AudioContext | undefined {
  if (!isSoundOn.value || typeof AudioContext === 'undefined' || navigator.userActivation?.hasBeenActive === false) return undefined;
  audio ??= new AudioContext();
  if (audio.state === 'suspended') void audio.resume();
  return audio;
}

/** An exponential fade-out from `level` within `seconds`. */
function fadeOut(on: AudioContext, level: number, seconds: number): GainNode {
  const gain = on.createGain();
  gain.gain.setValueAtTime(level, on.currentTime);
  gain.gain.exponentialRampToValueAtTime(1e-3, on.currentTime + seconds);
  gain.connect(on.destination);
  return gain;
}

/** Wood on wood: a noise burst, band-pass filtered at two resonances of a board. */
export function knock(): void {
  const on = context();
  if (!on) return;
  const noise = on.createBuffer(1, on.sampleRate * 0.08, on.sampleRate);
  const samples = noise.getChannelData(0);
  for (let i = 0; i < samples.length; i++) samples[i] = (2 * Math.random() - 1) * (1 - i / samples.length) ** 6;
  for (const [frequency, level] of [[1_900, 0.7], [620, 0.9]]) {
    const source = on.createBufferSource();
    source.buffer = noise;
    const band = on.createBiquadFilter();
    band.type = 'bandpass';
    band.frequency.value = frequency;
    band.Q.value = 3;
    source.connect(band).connect(fadeOut(on, level, 0.08));
    source.start();
  }
}

/** A beep for each of the last ten seconds, higher for the last five. */
export function tick(left: number): void {
  const on = context();
  if (!on) return;
  const tone = on.createOscillator();
  tone.frequency.value = left <= 5 ? 1_320 : 880;
  tone.connect(fadeOut(on, 0.12, 0.09));
  tone.start();
  tone.stop(on.currentTime + 0.1);
}
