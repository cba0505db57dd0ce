import 'uplot/dist/uPlot.min.css';
import './styles/base.css';
import './styles/parts.css';
import './styles/board.css';
import './styles/analyse.css';
import './styles/screens.css';
import './styles/print.css';
import { render } from 'preact';
import { hasUnsaved } from './analyse/state';
import { App } from './app';
import { listenForKeys } from './keys';
import { persistSettings } from './settings';
import { connection } from './socket';
import { releaseReplaced } from './ui/release';

releaseReplaced();
persistSettings();
listenForKeys();
connection.connect();
addEventListener('online', () => connection.check());
addEventListener('offline', () => connection.check());
document.addEventListener('visibilitychange', () => document.visibilityState === 'visible' && connection.check());
// The browser asks before it leaves the page.
addEventListener('beforeunload', e => hasUnsaved() && e.preventDefault());
render(<App />, document.getElementById('app')!);
