// Sounds, made by the browser itself: a piece set on the board, and the last seconds of a clock.
import { isSounding } from '../settings';

let audio: AudioContext | undefined;

/** Browsers allow sound only after the first key or click on a page: earlier ones stay silent. */
function context(): AudioContext | undefined {
  if (!isSounding.value || typeof AudioContext === 'undefined' || navigator.userActivation?.hasBeenActive === false) return undefined;
  audio ??= new AudioContext();
  if (audio.state === 'suspended') void audio.resume();
  return audio;
}

/** A volume that falls from `level` to nothing within `seconds`. */
function fading(on: AudioContext, level: number, seconds: number): GainNode {
  const gain = on.createGain();
  gain.gain.setValueAtTime(level, on.currentTime);
  gain.gain.exponentialRampToValueAtTime(1e-3, on.currentTime + seconds);
  gain.connect(on.destination);
  return gain;
}

/** Wood on wood: a moment of noise around two of a board's frequencies. */
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
    source.connect(band).connect(fading(on, level, 0.08));
    source.start();
  }
}

/** A second of the last ten; the last five are higher. */
export function tick(left: number): void {
  const on = context();
  if (!on) return;
  const tone = on.createOscillator();
  tone.frequency.value = left <= 5 ? 1_320 : 880;
  tone.connect(fading(on, 0.12, 0.09));
  tone.start();
  tone.stop(on.currentTime + 0.1);
}
