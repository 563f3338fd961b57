/**
 * The money of one workspace with one key as a state machine: the table of docs/reference/settlement.md §1 as functions. Both prices
 * are 10⁻¹² USD for a token, so an amount is a number of tokens. Ledger and rollups are the specification's own: no code of `src` is
 * called here.
 */

/** What is reserved and billed for a prompt. */
export const promptTokens = 10;
export const firstCredit = 100;
/** The most that the key may spend in a day. */
export const dailyBudget = 150;
export const dayMs = 86_400_000;
const hourMs = 3_600_000;
/**
 * Time that an action takes, and one that other processes have to notice. No sum of them falls on the moment of a report, at which
 * product and model would disagree about which comes first.
 */
export const [shortMs, longMs] = [101, 1_000];
/** Time within which a service notices that its database answers again. */
export const recoveryMs = 300;
/** How often a service writes reservations that have changed, how often unchanged ones, and how long a report counts. */
const [reportMs, repeatMs, goneMs] = [1_000, 15_000, 60_000];

export const endings = ['completed', 'cancelled', 'unheard', 'interrupted', 'incomplete', 'failed'] as const;
export type Ending = (typeof endings)[number];

/** How the storage of a row goes wrong: the service dies before or after the commit, or the commit is made and reported as failed. */
export const losses = ['none', 'dies-before', 'dies-after', 'in-doubt'] as const;
export type Loss = (typeof losses)[number];

/** `at` selects a request under way. */
export type Action =
  /** Below zero: a correction. */
  | { readonly kind: 'credit'; readonly amount: number }
  | { readonly kind: 'begin'; readonly cap: number }
  /** The first attempt, or a failover. */
  | { readonly kind: 'attempt'; readonly at: number }
  | { readonly kind: 'deliver'; readonly at: number; readonly tokens: number }
  | { readonly kind: 'end'; readonly at: number; readonly ending: Ending; readonly loss: Loss }
  | { readonly kind: 'database-down' }
  /** `dies`: after the rows of the journal are settled, and before their file is removed. */
  | { readonly kind: 'database-up'; readonly dies: boolean }
  | { readonly kind: 'crash' }
  | { readonly kind: 'wait' }
  | { readonly kind: 'next-day' }
  | { readonly kind: 'upkeep' };

export interface Running {
  readonly id: number;
  readonly startedAt: number;
  readonly cap: number;
  readonly attempts: number;
  readonly delivered: number;
}

export interface Row {
  readonly id: number;
  readonly startedAt: number;
  readonly cost: number;
}

/** Reservations as the database has them. */
interface Report {
  readonly service: number;
  readonly amount: number;
  readonly asOf: number;
}

export interface MoneyState {
  readonly now: number;
  /** Monotonic time since the present service began. */
  readonly elapsed: number;
  readonly service: number;
  readonly begun: number;
  readonly running: readonly Running[];
  readonly database: 'up' | 'down';
  readonly credits: number;
  readonly balance: number;
  /** The rows of single requests that are kept. */
  readonly ledger: readonly Row[];
  /** Requests that started earlier were deleted, or are refused. */
  readonly keptSince: number;
  readonly rollup: number;
  readonly spent: Readonly<Record<number, number>>;
  readonly journal: readonly Row[];
  readonly refused: readonly Row[];
  /** All rows that were ever charged, and all whose cost a caller was told: what the invariants compare with. */
  readonly charged: readonly Row[];
  readonly told: readonly Row[];
  readonly reports: readonly Report[];
  readonly lastReport: { readonly amount: number; readonly at: number };
}

export function firstState(now: number): MoneyState {
  return {
    ...{ now, elapsed: 0, service: 0, begun: 0, running: [], database: 'up' },
    ...{ credits: firstCredit, balance: firstCredit, ledger: [], keptSince: 0, rollup: 0, spent: {} },
    ...{ journal: [], refused: [], charged: [], told: [], reports: [], lastReport: { amount: 0, at: 0 } },
  };
}

const sum = (amounts: Iterable<number>): number => [...amounts].reduce((total, amount) => total + amount, 0);
const costs = (rows: readonly Row[]): number => sum(rows.map(({ cost }) => cost));
const dayOf = (moment: number): number => Math.floor(moment / dayMs) * dayMs;

const expectedCost = ({ cap, delivered }: Running): number => promptTokens + Math.max(cap, delivered);
export const reserved = ({ running }: MoneyState): number => sum(running.map(expectedCost));

/** The reservations that a correction respects. */
export const reported = ({ reports, now }: MoneyState): number =>
  sum(reports.filter(({ asOf }) => Math.abs(now - asOf) <= goneMs).map(({ amount }) => amount));

/** Rows that are durable in the journal and not in the ledger. */
const onlyInJournal = ({ journal, charged }: MoneyState): readonly Row[] =>
  journal.filter(({ id }) => !charged.some((row) => row.id === id));

/** The funds as the service knows them: rows in the journal count. */
export function knownFunds(state: MoneyState): { readonly balance: number; readonly spent: number } {
  const today = dayOf(state.now);
  const waiting = onlyInJournal(state);
  return {
    balance: state.balance - costs(waiting),
    spent: (state.spent[today] ?? 0) + costs(waiting.filter(({ startedAt }) => startedAt >= today)),
  };
}

/** Which fund refuses a new request. */
export function shortage(state: MoneyState): 'balance' | 'budget' | undefined {
  const { balance, spent } = knownFunds(state);
  if (balance <= reserved(state)) return 'balance';
  return dailyBudget - spent <= reserved(state) ? 'budget' : undefined;
}

/** The bill, by docs/accounts.md, "The bill". */
function costOf({ attempts, delivered }: Running, ending: Ending): number {
  if (attempts === 0) return 0;
  switch (ending) {
    case 'completed':
    case 'cancelled':
      return promptTokens + delivered;
    case 'interrupted':
      return delivered;
    case 'unheard':
    case 'incomplete':
    case 'failed':
      return 0;
  }
}

/** The moment up to which upkeep deletes requests of a ledger that keeps them for one day. */
const dropLimit = (now: number): number => dayOf(now) - dayMs;

export function isEnabled(state: MoneyState, action: Action): boolean {
  const { database, running, journal } = state;
  switch (action.kind) {
    case 'begin':
    case 'crash':
    case 'wait':
    case 'next-day':
      return true;
    case 'attempt':
      return running.length > 0;
    case 'deliver':
      return (pick(state, action.at)?.attempts ?? 0) > 0;
    case 'end': {
      const request = pick(state, action.at);
      if (request === undefined) return false;
      // A row that the ledger refuses begins no commit.
      return action.loss !== 'in-doubt' || (database === 'up' && request.startedAt >= state.keptSince);
    }
    case 'credit':
    case 'database-down':
    case 'upkeep':
      return database === 'up';
    case 'database-up':
      return database === 'down' && (!action.dies || journal.length > 0);
  }
}

function pick({ running }: MoneyState, at: number): Running | undefined {
  return running[at % running.length];
}

/** The state after an action that is enabled. */
export function next(state: MoneyState, action: Action): MoneyState {
  switch (action.kind) {
    case 'credit':
      return pass(credit(state, action.amount), longMs);
    case 'begin':
      return pass(shortage(state) === undefined ? begin(state, action.cap) : state, shortMs);
    case 'attempt':
      return pass(
        change(state, action.at, ({ attempts }) => ({ attempts: attempts + 1 })),
        shortMs,
      );
    case 'deliver':
      return pass(
        change(state, action.at, ({ delivered }) => ({ delivered: delivered + action.tokens })),
        shortMs,
      );
    case 'end':
      return end(state, action);
    case 'database-down':
      return pass({ ...state, database: 'down' }, shortMs);
    case 'database-up': {
      const tried = pass(state, untilReported(state) + recoveryMs);
      return pass(action.dies ? restart(replay(tried)) : replay(tried), longMs);
    }
    case 'crash':
      return pass(restart(state), shortMs);
    case 'wait':
      return pass(state, goneMs + shortMs);
    case 'next-day':
      return { ...state, now: state.now + dayMs };
    case 'upkeep': {
      const passed = pass(state, goneMs + shortMs);
      return expire(passed, mostExpired(passed));
    }
  }
}

/**
 * Time until the next report and a little more. A recovery begins there, so that no report falls into it: it would be written or not,
 * by the moment at which the service tries the database again.
 */
export const untilReported = ({ elapsed }: MoneyState): number => reportMs - (elapsed % reportMs) + shortMs;

function change(state: MoneyState, at: number, by: (request: Running) => Partial<Running>): MoneyState {
  const index = at % state.running.length;
  return { ...state, running: state.running.map((one, place) => (place === index ? { ...one, ...by(one) } : one)) };
}

function credit(state: MoneyState, amount: number): MoneyState {
  if (amount < 0 && state.balance + amount < reported(state)) return state;
  return { ...state, credits: state.credits + amount, balance: state.balance + amount };
}

function begin(state: MoneyState, cap: number): MoneyState {
  const request: Running = { id: state.begun, startedAt: state.now, cap, attempts: 0, delivered: 0 };
  return { ...state, begun: state.begun + 1, running: [...state.running, request] };
}

function end(state: MoneyState, { at, ending, loss }: Extract<Action, { readonly kind: 'end' }>): MoneyState {
  const request = pick(state, at);
  if (request === undefined) return state;
  const row: Row = { id: request.id, startedAt: request.startedAt, cost: costOf(request, ending) };
  const left = { ...state, running: state.running.filter((one) => one !== request) };
  if (loss === 'dies-before') return pass(restart(left), shortMs);
  const stored = state.database === 'up' ? charge(left, row) : { ...left, journal: [...left.journal, row] };
  if (loss === 'dies-after') return pass(restart(stored), shortMs);
  const isRefused = stored.refused.length > left.refused.length;
  const known = isRefused ? stored : { ...stored, told: [...stored.told, row] };
  // The database has the row and has not said so: the journal gets it, too.
  return pass(loss === 'in-doubt' ? { ...known, database: 'down', journal: [...known.journal, row] } : known, shortMs);
}

/** Settles a row, once. */
function charge(state: MoneyState, row: Row): MoneyState {
  if (row.startedAt < state.keptSince) {
    return state.ledger.some(({ id }) => id === row.id) ? state : { ...state, refused: [...state.refused, row] };
  }
  if (state.ledger.some(({ id }) => id === row.id)) return state;
  const day = dayOf(row.startedAt);
  return {
    ...state,
    balance: state.balance - row.cost,
    ledger: [...state.ledger, row],
    rollup: state.rollup + row.cost,
    spent: { ...state.spent, [day]: (state.spent[day] ?? 0) + row.cost },
    charged: [...state.charged, row],
  };
}

/** The database answers, and the rows of the journal are settled first. */
function replay(state: MoneyState): MoneyState {
  return { ...state.journal.reduce(charge, state), database: 'up', journal: [] };
}

/** A service died. The next one finds the database up, and requests that ran are lost: they have no row. */
function restart(state: MoneyState): MoneyState {
  const { service } = state;
  return replay({ ...state, running: [], service: service + 1, elapsed: 0, lastReport: { amount: 0, at: 0 } });
}

/** The end of the last hour that upkeep may delete. */
export function mostExpired({ charged, keptSince, now }: MoneyState): number {
  const ends = charged.map(({ startedAt }) => (Math.floor(startedAt / hourMs) + 1) * hourMs);
  return Math.max(keptSince, ...ends.filter((hour) => hour <= dropLimit(now)));
}

export function expire(state: MoneyState, keptSince: number): MoneyState {
  return { ...state, keptSince, ledger: state.ledger.filter(({ startedAt }) => startedAt >= keptSince) };
}

/** Lets time pass. Each second the service reports its reservations, if they have changed or are older than 15 s. */
function pass(state: MoneyState, ms: number): MoneyState {
  const until = state.elapsed + ms;
  let passed = state;
  for (let at = (Math.floor(state.elapsed / reportMs) + 1) * reportMs; at <= until; at += reportMs) {
    passed = report({ ...passed, now: passed.now + at - passed.elapsed, elapsed: at });
  }
  return { ...passed, now: passed.now + until - passed.elapsed, elapsed: until };
}

function report(state: MoneyState): MoneyState {
  const { lastReport, service, elapsed, now } = state;
  const amount = reserved(state);
  if (amount === lastReport.amount && (amount === 0 || elapsed - lastReport.at < repeatMs)) return state;
  const told = { ...state, lastReport: { amount, at: elapsed } };
  if (state.database === 'down') return told;
  const others = state.reports.filter((one) => one.service !== service);
  return { ...told, reports: [...others, { service, amount, asOf: now }] };
}

/** What is wrong with a state; empty if all invariants of docs/reference/settlement.md §2 hold. */
export function violations(state: MoneyState): readonly string[] {
  const { charged, ledger, journal, refused, told, running } = state;
  const has = (rows: readonly Row[], { id, cost }: Row) => rows.some((row) => row.id === id && row.cost === cost);
  const isOnce = (rows: readonly Row[]) => new Set(rows.map(({ id }) => id)).size === rows.length;
  const rules: readonly (readonly [string, boolean])[] = [
    ['a balance is the credits less the charged rows', state.balance === state.credits - costs(charged)],
    ['a request is charged once', isOnce(charged)],
    ['a row waits in the journal once', isOnce(journal)],
    ['the rollups are the charged rows', state.rollup === costs(charged)],
    ['spending by day is the charged rows', sum(Object.values(state.spent)) === costs(charged)],
    ['the ledger has the charged rows that are kept', ledger.every((row) => has(charged, row))],
    ['a told cost has its row', told.every((row) => [charged, journal, refused].some((rows) => has(rows, row)))],
    [
      'a request under way has no row',
      running.every(({ id }) => ![...charged, ...journal].some((row) => row.id === id)),
    ],
    ['a journal is empty while the database is up', state.database === 'down' || journal.length === 0],
  ];
  return rules.flatMap(([rule, holds]) => (holds ? [] : [rule]));
}
