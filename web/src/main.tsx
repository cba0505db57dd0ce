import 'uplot/dist/uPlot.min.css';
import './styles/base.css';
import './styles/parts.css';
import './styles/board.css';
import './styles/analyse.css';
import './styles/screens.css';
import './styles/print.css';
import { render } from 'preact';
import { App } from './app';
import { listenForKeys } from './keys';
import { persistSettings } from './settings';
import { connection } from './socket';
import { releaseReplaced } from './ui/release';

releaseReplaced();
persistSettings();
listenForKeys();
connection.connect();
render(<App />, document.getElementById('app')!);
