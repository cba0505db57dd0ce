// The messages of the server, written by tools/protocol_types.py from komadori.web.
// Don't edit by hand.


export const VERSION = 2;

export interface Analyse {
  id: number;
  type: 'analyse';
  position: string;
  multipv?: number;
  nodes?: number | null;
  engine?: 'alphabeta' | 'model' | null;
  model?: string | null;
  candidates?: number;
  interval_ms?: number;
}

export interface Analysis {
  type: 'analysis';
  id: number;
  state: 'running' | 'done';
  position: string;
  turn: 'black' | 'white';
  lines: Line[];
  candidates: Candidate[];
  nodes: number;
  nps: number;
  time_ms: number;
  depth: number;
  seldepth: number;
  hashfull: number;
  root_visits: number;
  win_rate: number;
  outcome: string;
  engine: 'alphabeta' | 'model';
  model: string;
}

export interface AskAttention {
  id: number;
  type: 'attention';
  position: string;
  model: string;
  layer?: number;
  head?: number | null;
}

export interface AskCheckpoints {
  id: number;
  type: 'checkpoints';
  position: string;
  run: string;
  moves?: number;
}

export interface AskHint {
  id: number;
  type: 'hint';
  game: number;
  nodes?: number | null;
}

export interface AskMate {
  id: number;
  type: 'mate';
  position: string;
  after_pass?: boolean;
  nodes?: number;
}

export interface AskNetwork {
  id: number;
  type: 'network';
  position: string;
  models?: string[];
}

export interface AskPlanes {
  id: number;
  type: 'planes';
  position: string;
  model?: string | null;
}

export interface AttentionAnswer {
  type: 'attention';
  id: number;
  model: string;
  turn: 'black' | 'white';
  layer: number;
  layers: number;
  head: number | null;
  heads: number;
  weights: number[][];
  hands: number[];
}

export interface Candidate {
  move: string;
  prior: number;
  visits: number;
  value: number | null;
  proof: 'none' | 'win' | 'loss' | 'draw';
  proof_plies: number;
}

export interface Checkpoint {
  type: 'checkpoint';
  id: number;
  run: string;
  model: string;
  step: number;
  index: number;
  total: number;
  turn: 'black' | 'white';
  value: number;
  policy: PolicyMove[];
}

export interface Clock {
  main_ms?: number;
  byoyomi_ms?: number;
  increment_ms?: number;
}

export interface ClockState {
  black_ms: number;
  white_ms: number;
  byoyomi_ms: number;
  increment_ms: number;
  running: 'black' | 'white' | null;
  in_byoyomi: ('black' | 'white')[];
}

export interface Error {
  type: 'error';
  id: number | null;
  code: 'bad_message' | 'bad_position' | 'bad_record' | 'illegal_move' | 'unknown_model' | 'unknown_name' | 'no_engine' | 'not_possible' | 'too_many' | 'failed';
  message: string;
}

export interface FollowStudy {
  id: number;
  type: 'study_follow';
  study: string;
}

export interface Found {
  game: number;
  ply: number;
  turn: 'black' | 'white';
  win_rate: number;
  black_win_rate: number;
  visits: number;
  declares: boolean;
  lines: Line[];
}

export interface Game {
  type: 'game';
  id: number;
  game: GameState;
}

export interface GameAction {
  id: number;
  type: 'game_action';
  game: number;
  action: 'take_back' | 'resign' | 'declare' | 'pause' | 'resume' | 'stop';
}

export interface GameList {
  games: GameSummary[];
  total: number;
}

export interface GameMove {
  id: number;
  type: 'game_move';
  game: number;
  move: string;
}

export interface GameProgress {
  game: number;
  black: string;
  white: string;
  plies: number;
  done: number;
}

export interface GameResult {
  winner: 'black' | 'white' | 'draw' | 'none';
  reason: 'checkmate' | 'resignation' | 'declaration' | 'repetition' | 'perpetual_check' | 'max_plies' | 'illegal_move' | 'false_declaration' | 'time' | 'engine_failure' | 'adjudication' | 'interrupted';
  detail: string;
}

export interface GameState {
  scores_cp: (number | null)[];
  game: number;
  black: SeatState;
  white: SeatState;
  sfen: string;
  moves: string[];
  turn: 'black' | 'white';
  phase: 'playing' | 'paused' | 'over';
  thinking: 'black' | 'white' | null;
  clock: ClockState | null;
  times_ms: number[];
  result: GameResult | null;
  can_declare: boolean;
  is_check: boolean;
  occurrences: number;
  last_thought: Thought | null;
  win_rates: (number | null)[];
}

export interface GameSummary {
  game: number;
  black: string;
  white: string;
  source: 'played' | 'imported' | 'saved' | 'studied';
  winner: 'black' | 'white' | 'draw' | 'none';
  end: string;
  plies: number;
  started: string;
  is_studied: boolean;
  title: string;
  sfen: string;
}

export interface HandicapInfo {
  name: string;
  kif: string;
  position: string;
}

export interface Hint {
  type: 'hint';
  id: number;
  game: number;
  lines: Line[];
}

export interface Human {
  kind: 'human';
  name?: string;
}

export interface JoinGame {
  id: number;
  type: 'game_join';
  game: number;
}

export interface LabPage {
  name: string;
  title: string;
}

export interface LadderInfo {
  name: string;
  title: string;
  terms: Terms | null;
  games: number;
  players: LadderPlayerInfo[];
  pairings: LadderPairing[];
  first_move_elo: number;
  draw_fraction: number;
  is_running: boolean;
  updated: number;
}

export interface LadderPairing {
  player: string;
  against: string;
  wins: number;
  draws: number;
  losses: number;
}

export interface LadderPlayerInfo {
  name: string;
  spec: string;
  note: string;
  elo: number;
  elo_error: number;
  is_anchor: boolean;
  games: number;
  wins: number;
  draws: number;
  losses: number;
}

export interface Level {
  label: string;
  playouts: number | null;
  temperature: number;
  elo: number | null;
  elo_error: number | null;
}

export interface Line {
  multipv: number;
  win_rate: number;
  score_cp: number | null;
  mate_plies: number | null;
  visits: number;
  depth: number;
  pv: string[];
}

export interface LogPart {
  name: string;
  since: number;
  entries: Record<string, unknown>[];
  total: number;
  is_running: boolean;
}

export interface LoopInfo {
  name: string;
  title: string;
  learner: string;
  settings: Record<string, unknown>;
  planned: number | null;
  rounds: LoopRound[];
  is_running: boolean;
  updated: number;
  problem: string;
}

export interface LoopReference {
  name: string;
  wins: number;
  draws: number;
  losses: number;
  elo: number | null;
  place: number;
}

export interface LoopRound {
  number: number;
  state: 'done' | 'running' | 'waiting';
  stage: LoopStage | null;
  games: number | null;
  positions: number | null;
  played_by: number | null;
  verdict: '' | 'promoted' | 'dropped';
  against: number | null;
  wins: number;
  draws: number;
  losses: number;
  elo: number | null;
  elo_error: number | null;
  rating: number | null;
  rating_error: number | null;
  references: LoopReference[];
  run: string | null;
  match: string | null;
}

export interface LoopStage {
  name: string;
  done: number;
  total: number | null;
}

export interface MatchGame {
  scores_cp: (number | null)[];
  index: number;
  black: string;
  white: string;
  sfen: string;
  moves: string[];
  times_ms: number[];
  opening_plies: number;
  winner: 'black' | 'white' | 'draw';
  reason: string;
  win_rates: (number | null)[];
}

export interface MatchInfo {
  name: string;
  players: string[];
  is_running: boolean;
  games: number;
  planned: number | null;
  wins: number;
  draws: number;
  losses: number;
  elo: number | null;
  elo_error: number | null;
  elo_low: number | null;
  elo_high: number | null;
  los: number | null;
  terms: Terms;
  updated: number;
}

export interface MateFound {
  type: 'mate';
  id: number;
  position: string;
  after_pass: boolean;
  status: 'mate' | 'none' | 'unknown' | 'check' | 'over';
  moves: string[];
  nodes: number;
  time_ms: number;
  is_shortest: boolean;
}

export interface Mistake {
  game: number;
  ply: number;
  turn: 'black' | 'white';
  played: string;
  before: number;
  after: number;
  loss: number;
  grade: string;
  best: Line;
  reply: Line | null;
}

export interface ModelInfo {
  id: string;
  name: string;
  kind: 'file' | 'folder' | 'checkpoint' | 'fake';
  run: string | null;
  step: number | null;
  net: string;
  features: string;
  labels: string;
  has_attention: boolean;
  is_default: boolean;
}

export interface NetworkAnswer {
  type: 'network';
  id: number;
  model: string;
  index: number;
  turn: 'black' | 'white';
  value: number;
  policy: PolicyMove[];
  legal_mass: number | null;
  from_squares: number[];
  to_squares: number[];
  drops: Record<string, number>;
}

export interface Ok {
  type: 'ok';
  id: number;
}

export interface OpeningMove {
  move: string;
  games: number;
  black: number;
  white: number;
  draws: number;
}

export interface Openings {
  games: number;
  moves: OpeningMove[];
}

export interface Opponent {
  kind: 'engine';
  player: string;
  playouts?: number | null;
  temperature?: number;
  temperature_plies?: number;
  elo?: number | null;
  name?: string;
}

export interface Ping {
  id: number;
  type: 'ping';
}

export interface Plane {
  input: string;
  index: number;
  name: string;
  squares: number[];
}

export interface Planes {
  type: 'planes';
  id: number;
  model: string;
  features: string;
  turn: 'black' | 'white';
  planes: Plane[];
  total: number;
}

export interface PlayerInfo {
  id: string;
  name: string;
  kind: string;
  takes_playouts: boolean;
  takes_temperature: boolean;
  levels: Level[];
}

export interface Players {
  players: PlayerInfo[];
  handicaps: HandicapInfo[];
}

export interface PolicyMove {
  move: string;
  p: number;
}

export interface Problem {
  code: string;
  detail: string;
}

export interface ReadGame {
  analysis: Found[];
  texts: Record<string, string>;
  variations: RecordedVariation[];
  scores_cp: (number | null)[];
  black: string;
  white: string;
  headers: Record<string, string>;
  sfen: string;
  moves: string[];
  times_ms: (number | null)[];
  comments: Record<string, string>;
  winner: 'black' | 'white' | 'draw' | 'none';
  end: string;
  game: number | null;
  is_new: boolean;
  kif: string;
  win_rates: (number | null)[];
}

export interface ReadGames {
  format: string;
  games: ReadGame[];
  skipped: string[];
}

export interface RecordedAnalysis {
  analysis: Found[];
  texts: Record<string, string>;
  variations: RecordedVariation[];
}

export interface RecordedLine {
  analysis: Found[];
  texts: Record<string, string>;
}

export interface RecordedVariation {
  analysis: Found[];
  texts: Record<string, string>;
  parent: number;
  ply: number;
  moves: string[];
}

export interface RunInfo {
  name: string;
  title: string;
  is_running: boolean;
  step: number;
  steps: number | null;
  net: string;
  started: number | null;
  updated: number;
  last: Record<string, unknown>;
  checkpoints: string[];
  has_report: boolean;
}

export interface SaveGame {
  position: string;
  black: string;
  white: string;
  title: string;
  winner: 'black' | 'white' | 'draw' | 'none';
  end: string;
  comments: Record<string, string>;
  headers: Record<string, string>;
  record: string;
}

export interface Saved {
  game: number;
  version: string;
}

export interface ScoredMoves {
  scores_cp: (number | null)[];
  win_rates: (number | null)[];
}

export interface SeatState {
  kind: 'human' | 'engine';
  name: string;
  counts: 'playouts' | 'nodes';
}

export interface StartGame {
  id: number;
  type: 'game_start';
  black: Human | Opponent;
  white: Human | Opponent;
  position?: string;
  clock?: Clock | null;
  declaration?: '27' | '24' | 'none';
  max_plies?: number;
  pace_ms?: number;
}

export interface Stop {
  id: number;
  type: 'stop';
  what?: 'analysis' | 'threats' | 'mate' | 'all';
}

export interface StopStudy {
  id: number;
  type: 'study_stop';
  study: string;
}

export interface StoredGame {
  analysis: Found[];
  texts: Record<string, string>;
  variations: RecordedVariation[];
  scores_cp: (number | null)[];
  summary: GameSummary;
  version: string;
  sfen: string;
  moves: string[];
  times_ms: (number | null)[];
  comments: Record<string, string>;
  headers: Record<string, string>;
  result: GameResult | null;
  record: string;
  win_rates: (number | null)[];
}

export interface StoredStudy {
  game: number;
  model: string;
  effort: string;
  done: number;
  total: number;
  found: Found[];
  mistakes: Mistake[];
}

export interface Study {
  id: number;
  type: 'study';
  games: StudyGame[];
  nodes?: number | null;
  seconds?: number | null;
  engine?: 'alphabeta' | 'model' | null;
  model?: string | null;
  lines?: number;
}

export interface StudyGame {
  game?: number | null;
  position?: string | null;
  black?: string;
  white?: string;
  winner?: 'black' | 'white' | 'draw' | 'none';
  end?: string;
  headers?: Record<string, string>;
  comments?: Record<string, string>;
  record?: string;
}

export interface StudyProgress {
  type: 'study';
  id: number;
  study: string;
  state: 'running' | 'done' | 'stopped' | 'failed';
  message: string;
  games: GameProgress[];
  done: number;
  total: number;
  left_s: number | null;
  found: Found[];
  mistakes: Mistake[];
}

export interface Terms {
  main_ms: number;
  byoyomi_ms: number;
  increment_ms: number;
  nodes: number | null;
  depth: number | null;
  movetime_ms: number | null;
  default_nodes: number | null;
  max_plies: number | null;
}

export interface Thought {
  color: 'black' | 'white';
  score_cp: number | null;
  mate_plies: number | null;
  depth: number | null;
  nodes: number | null;
  pv: string[];
}

export interface Threats {
  id: number;
  type: 'threats';
  position: string;
  multipv?: number;
  nodes?: number | null;
  engine?: 'alphabeta' | 'model' | null;
  model?: string | null;
}

export interface ThreatsFound {
  type: 'threats';
  id: number;
  position: string;
  available: boolean;
  reason: '' | 'check' | 'over';
  lines: Line[];
}

export interface TreeNode {
  type: 'tree';
  id: number;
  path: string[];
  found: boolean;
  turn: 'black' | 'white';
  sfen: string;
  visits: number;
  value: number | null;
  network_value: number | null;
  proof: 'none' | 'win' | 'loss' | 'draw';
  proof_plies: number;
  moves: Candidate[];
  total_moves: number;
}

export interface TreeWalk {
  id: number;
  type: 'tree';
  path?: string[];
  limit?: number;
}

export interface Unwatch {
  id: number;
  type: 'unwatch';
  watch: number;
}

export interface Watch {
  id: number;
  type: 'watch';
  what: 'run' | 'match';
  name: string;
  since?: number;
}

export interface Watched {
  type: 'watched';
  id: number;
  what: 'run' | 'match';
  name: string;
  since: number;
  entries: Record<string, unknown>[];
  is_running: boolean;
}

export interface Welcome {
  type: 'welcome';
  protocol: number;
  version: string;
  session: string;
  resumed: boolean;
  received: number;
  default_engine: 'alphabeta' | 'model';
  default_model: ModelInfo | null;
  problem: string;
  is_lan: boolean;
  games: number[];
  studies: string[];
}

export type ClientMessage =
  | Analyse
  | Threats
  | AskMate
  | Stop
  | TreeWalk
  | AskNetwork
  | AskPlanes
  | AskAttention
  | AskCheckpoints
  | Study
  | FollowStudy
  | StopStudy
  | StartGame
  | JoinGame
  | GameMove
  | GameAction
  | AskHint
  | Watch
  | Unwatch
  | Ping;

export type ServerMessage =
  | Welcome
  | Ok
  | Error
  | Analysis
  | ThreatsFound
  | MateFound
  | TreeNode
  | NetworkAnswer
  | Planes
  | AttentionAnswer
  | Checkpoint
  | StudyProgress
  | Game
  | Hint
  | Watched;
