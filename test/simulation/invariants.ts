import { parseUsd } from '../../src/core/money.ts';
import type { SettledRequest } from '../../src/core/settled-request.ts';
import { listRequests } from '../../src/books/ledger/list-requests.ts';
import { verifyLedger } from '../../src/books/ledger/verify-ledger.ts';
import type { JsonObject } from '../programmable-engine/json-value.ts';
import type { Call } from './caller.ts';
import { accountOf } from './accounts.ts';
import { billFaults } from './check-bill.ts';
import { chanceFrom } from '../support/chance.ts';
import { differenceOf, isContinuedAlone } from './check-answer.ts';
import { type AskedRequest, couldBeServed } from './check-availability.ts';
import { writtenTokens } from './check-delivered.ts';
import { placeTriedTooOften, placeTriedTwice } from './check-attempts.ts';
import { catalogsInForce, type MadeCatalog } from './check-catalog.ts';
import { isIssuerAway, payerFaults } from './check-identities.ts';
import { eventFaults } from './check-events.ts';
import { fundsFaults } from './check-funds.ts';
import { healedMs, mustRefuse, stopDelayMs } from './check-stopped.ts';
import { toldFaults } from './check-told.ts';
import type { RequestEvent } from './events.ts';
import { leftoversOf, reservationsLeft } from './leftovers.ts';
import { createMoneyInvariants } from './money-invariants.ts';
import { createStatusInvariants } from './status-invariants.ts';
import { type ExpectedAnswer, expectedAnswer } from './expected-answer.ts';
import { canary, queriesOf } from './searches.ts';
import {
  answerOfRounds,
  foundIn,
  historyFaults,
  promptSums,
  searchFaults,
  sourcesOf,
  turnFaults,
} from './check-searches.ts';
import { readAnswer } from './received-answer.ts';
import type { ReceivedAnswer } from './received-choice.ts';
import { hasVectors, piecesOf, tokensAsWritten } from './vectors.ts';
import type { World } from './world-view.ts';

/** A promise that was not kept. */
export interface Violation {
  readonly invariant: string;
  readonly text: string;
  readonly atMs: number;
  /** The request that it is about. */
  readonly request: number | undefined;
}

/** Notes that a promise was not kept. */
export type Violate = (invariant: string, text: string, request?: number) => void;

export interface Invariants {
  /** After every event. */
  readonly check: () => void;
  /** Reads the database: now and then, and at the end. */
  readonly checkBooks: (how: 'new' | 'all') => Promise<void>;
  /** When nothing runs any more. */
  readonly checkRest: () => Promise<void>;
  readonly violations: () => readonly Violation[];
}

/** Rows that are older are read when all rows are. */
const newRowsMs = 180_000;

const askedOf = ({ event, startedAt, end, endedAt }: Call): AskedRequest => ({
  ...{ startedAt, directive: event.directive },
  endedAt: end() === 'open' ? undefined : endedAt(),
});

export function createInvariants(world: World, { maxViolations = 20 } = {}): Invariants {
  const { scheduler } = world;
  const violations: Violation[] = [];
  const open = new Set<Call>();
  const checked = new Set<Call>();
  const told = new Map<string, { readonly cost: bigint; readonly usage: JsonObject; readonly event: RequestEvent }>();
  /** Searches with a result that reached the caller, by request. */
  const received = new Map<number, number>();
  let seen = 0;
  let seenFaults = 0;
  let seenCorrections = 0;

  function violate(invariant: string, text: string, request?: number): void {
    if (violations.length >= maxViolations) return;
    violations.push({ invariant, text, atMs: scheduler.now(), request });
    scheduler.log.write(`VIOLATION ${invariant} ${request === undefined ? '' : `r${request} `}${text}`);
  }

  const statuses = createStatusInvariants(world, violate);
  const money = createMoneyInvariants(world, violate);

  const isCalm = (from: number, until: number): boolean =>
    world.spells.every(([begin, end]) => end < from || begin > until);

  /** Nothing runs, and every service has heard of what has ended and changed. */
  const isQuiet = (): boolean =>
    open.size === 0 &&
    isCalm(scheduler.now() - healedMs, scheduler.now()) &&
    world.calls.every((call) => call.endedAt() < scheduler.now() - stopDelayMs);

  function checkCall(call: Call): void {
    const { event } = call;
    const body = call.body();
    const isSuccess = call.status() === 200;
    const answer = isSuccess ? readAnswer(event, body, call.end() === 'ended') : undefined;
    const expected = expectedOf(call, answer);
    for (const fault of answer?.faults ?? []) violate('format', fault, event.id);
    if (answer !== undefined) {
      if (call.end() === 'ended' && answer.end === 'open') violate('format', 'the answer has no end', event.id);
      const isContinued = world.isContinued({ id: answer.id ?? '', number: event.id });
      for (const [index, choice] of answer.choices) {
        const how = { event, isWhole: answer.end === 'whole' };
        const wrong =
          isContinued && isContinuedAlone(choice, expected.choices[0], how)
            ? undefined
            : differenceOf(choice, expected.choices[index], how);
        if (wrong !== undefined) violate('answer', `choice ${index}: ${wrong}`, event.id);
      }
      if (event.search !== undefined) checkSearches(call, answer);
      const isTold = event.surface !== 'chat' || !event.stream || event.includeUsage;
      if (answer.end === 'whole' && (answer.usage !== undefined) !== isTold)
        violate('usage', isTold ? 'the answer has no usage' : 'the answer has a usage', event.id);
      if (answer.end === 'whole' && answer.choices.size !== event.choices)
        violate('answer', `${answer.choices.size} choices in place of ${event.choices}`, event.id);
      if (answer.id !== undefined && answer.usage !== undefined && answer.cost !== undefined) {
        const cost = parseUsd(answer.cost);
        if (cost === undefined) violate('money', `the cost ${answer.cost} is no amount`, event.id);
        else told.set(answer.id, { cost, usage: answer.usage, event });
      }
    }
    if (event.surface === 'responses' && !world.plan.responses && ![404, undefined].includes(call.status()))
      violate('surface', `status ${call.status()} where it is off`, event.id);
    statuses.checkStatus(call);
    checkStopped(call, isSuccess);
    checkFailure(call, answer);
  }

  /** Requests that search have rounds, whose prompts only the service knows. */
  function expectedOf({ event, earlier }: Call, answer: ReceivedAnswer | undefined): ExpectedAnswer {
    if (event.search === undefined) return expectedAnswer(event);
    const known = earlier === undefined ? 0 : sourcesOf(earlier.answer).length;
    const sources = answer === undefined ? Infinity : known + sourcesOf(answer).length;
    return answerOfRounds(world.rounds.of(event.id), sources);
  }

  /** Of a request that searches. A caller that has left may have got less than was sent. */
  function checkSearches(call: Call, answer: ReceivedAnswer): void {
    const { event, earlier } = call;
    const rounds = world.rounds.of(event.id);
    const hasFault = world.searchSpells.some(([begin, end]) => end >= call.startedAt && begin <= call.endedAt());
    const isProviderUp = world.plan.searchProvider === 'none' && !hasFault && isCalm(call.startedAt, call.endedAt());
    for (const fault of searchFaults(event, answer, {
      ...{ rounds, found: world.search.found, isProviderUp },
      earlier: earlier === undefined ? [] : sourcesOf(earlier.answer),
    }))
      violate('search', fault, event.id);
    for (const fault of turnFaults(rounds)) violate('search', fault, event.id);
    const history = earlier && {
      rounds: world.rounds.of(earlier.event.id),
      answer: earlier.answer,
      isCited: event.ask !== 'schema',
    };
    for (const fault of history === undefined ? [] : historyFaults(rounds, history)) violate('search', fault, event.id);
    received.set(event.id, foundIn(answer));
  }

  function checkStopped(call: Call, isSuccess: boolean): void {
    const stopped = world.stoppedAt.get(call.event.key);
    // The key that replaces another one does not end with it.
    if (!isSuccess || stopped === undefined || call.key === world.keys[call.event.key]?.later?.text) return;
    if (mustRefuse({ stoppedAt: stopped, startedAt: call.startedAt }, world.spells))
      violate('stopped key', 'is served', call.event.id);
  }

  /** Where an endpoint could have served, no failure reaches the caller. */
  function checkFailure(call: Call, answer: ReceivedAnswer | undefined): void {
    if (call.end() === 'left' || !isCalm(call.startedAt, call.endedAt())) return;
    // All places may be taken, and what broke off finds none to go on at.
    if (world.plan.endpointPlaces !== undefined) return;
    if (world.engineSpells.some(([begin, end]) => end + 60_000 >= call.startedAt && begin <= call.endedAt())) return;
    const status = call.status() ?? 0;
    const isFailure = status >= 500 || answer?.end === 'error' || call.end() === 'broken';
    if (answer?.end === 'error' && mayNotContinue(call.event)) return;
    // An issuer that was never read says nothing about its tokens.
    if (accountOf(call.event.key) !== undefined && isIssuerAway(world, call.startedAt, call.endedAt())) return;
    // A session with PostgreSQL breaks at any time, and so may the one that opens the account of a token.
    if (accountOf(call.event.key) !== undefined && !world.isOnDisk && status === 503) return;
    if (
      isFailure &&
      couldBeServed(askedOf(call), {
        requests: world.calls.map(askedOf),
        isRefused: status === 503 || call.event.search !== undefined,
      })
    )
      violate('availability', `status ${status}: ${call.body().slice(-300)}`, call.event.id);
  }

  /** Where engines do not continue as others do, an answer that has begun may break off. */
  const mayNotContinue = ({ directive }: RequestEvent): boolean =>
    directive?.continuation !== undefined || directive?.continuationQuirk !== undefined;

  const rowsOfLedger = new Map<string, SettledRequest>();

  /** `all`: also reads rows again that were read before, and sums up the whole ledger. */
  async function checkBooks(how: 'new' | 'all'): Promise<void> {
    const database = world.database();
    if (database === undefined) return;
    let books: Awaited<ReturnType<typeof verifyLedger>> | undefined;
    let rows: readonly SettledRequest[];
    let funds: readonly string[];
    try {
      const since = how === 'all' ? 0 : world.plan.startsAt + scheduler.now() - newRowsMs;
      rows = await listRequests(database.queries, { since }, 100_000);
      await world.learnAccounts(database.queries);
      books = how === 'all' ? await verifyLedger(database.queries) : undefined;
      funds = how === 'all' && isQuiet() ? await fundsFaults(world, database.queries) : [];
    } catch {
      // The disk fails.
      return;
    }
    for (const { name, balance, expected } of books?.workspaces ?? [])
      if (balance !== expected) violate('money', `${name} has ${balance} in place of ${expected}`);
    const differences = [
      books?.spendingDifferences ?? [],
      books?.dayDifferences ?? [],
      books?.rowDifferences ?? [],
      books?.tagDifferences ?? [],
    ];
    for (const difference of differences.flat().slice(0, 3))
      violate(
        'rollups',
        JSON.stringify(difference, (_, value) => (typeof value === 'bigint' ? String(value) : value)),
      );
    for (const fault of funds) violate('funds', fault);
    for (; seenCorrections < world.corrections.length; seenCorrections += 1) {
      const { isMade, left, reserved } = world.corrections[seenCorrections]!;
      if (isMade !== left >= reserved)
        violate('correction', `${isMade ? 'made' : 'refused'}: ${left} left, ${reserved} reserved`);
    }
    for (const row of rows) rowsOfLedger.set(row.requestId, row);
    checkRows(rows);
    if (how === 'all') money.checkMoney([...rowsOfLedger.values()]);
    checkAttempts();
  }

  function checkRows(rows: readonly SettledRequest[]): void {
    for (const row of rows) {
      const number = Number(row.correlationId.slice(1));
      if (world.outcomes !== undefined && world.outcomes.get(row.requestId)?.cost !== row.cost)
        violate('money', `a row of ${row.cost} that no service has settled so`, number);
      const call = callOf(number);
      if (call !== undefined) checkBill(row, call);
    }
    for (const [id, { cost, usage, event }] of told) {
      const row = rowsOfLedger.get(id);
      if (row === undefined) continue;
      if (row.cost !== cost) violate('money', `told ${cost}, billed ${row.cost}`, event.id);
      for (const fault of toldFaults(event.surface, usage, row.usage)) violate('usage', fault, event.id);
    }
  }

  const attempted = new Set<string>();

  function checkAttempts(): void {
    for (const [id, attempts] of world.attempts) {
      const call = callOf(Number(world.outcomes?.get(id)?.correlationId.slice(1)));
      if (call === undefined || call.end() === 'open' || attempted.has(id)) continue;
      attempted.add(id);
      const { choices, vectors } = call.event;
      const place =
        vectors === undefined ? placeTriedTwice(attempts, choices) : placeTriedTooOften(attempts, piecesOf(vectors));
      if (place === undefined) continue;
      const places = attempts.map(({ start, ended }) => `${start.reason} ${start.endpoint} ${ended?.how ?? 'runs'}`);
      violate('attempts', `tried twice at ${place}: ${places.join(', ')}`, call.event.id);
    }
  }

  const inForce = (call: Call): readonly MadeCatalog[] =>
    catalogsInForce(world.catalogs, { startedAt: call.startedAt, endedAt: call.endedAt() }, world.pauses);

  const billed = new Set<string>();

  function checkBill(row: SettledRequest, call: Call): void {
    if (billed.has(row.requestId) || call.end() === 'open') return;
    billed.add(row.requestId);
    const { event } = call;
    const expected = expectedOf(call, undefined);
    const rounds = world.rounds.of(event.id);
    const got = received.get(event.id) ?? 0;
    const isWhole = call.end() === 'ended' && call.status() === 200;
    const made = queriesOf(event)
      .flat()
      .reduce((sum, query) => sum + world.search.found(query), 0);
    const faults = billFaults(row, {
      event,
      completionTokens: expected.completionTokens,
      promptTokens: rounds.length === 0 ? new Set([expected.promptTokens]) : promptSums(rounds),
      withDirectives: hasVectors(event) ? tokensAsWritten(event) : undefined,
      isContinued: world.isContinued({ id: row.requestId, number: event.id }),
      isCounted: world.plan.backends?.isCounted,
      written: writtenTokens(event, call.written()),
      received: writtenTokens(event, call.body()),
      searches: { got, made: isWhole ? got : made },
      factors: inForce(call).map(({ factor }) => factor),
    });
    for (const fault of faults) violate('bill', fault, event.id);
    for (const fault of payerFaults(row, call, world)) violate('payer', fault, event.id);
  }

  let byNumber = new Map<number, Call>();
  function callOf(number: number): Call | undefined {
    if (byNumber.size !== world.calls.length) byNumber = new Map(world.calls.map((call) => [call.event.id, call]));
    return byNumber.get(number);
  }

  async function checkRest(): Promise<void> {
    for (const call of world.calls) if (call.end() === 'open') violate('rest', 'the request has no end', call.event.id);
    for (const fault of leftoversOf(world)) violate('rest', fault);
    statuses.checkLimits();
    await checkBooks('all');
    await checkDurable();
    for (const [path, bytes] of world.disk.contents())
      if (bytes.includes(canary)) violate('privacy', `${path} has a piece of a prompt`);
  }

  /** Whatever a caller was told is in the ledger, and each change of an operator in the audit trail. */
  async function checkDurable(): Promise<void> {
    const database = world.database();
    if (database === undefined) {
      violate('rest', 'the database cannot be opened');
      return;
    }
    for (const fault of await fundsFaults(world, database.queries)) violate('funds', fault);
    for (const fault of await reservationsLeft(world, database)) violate('rest', fault);
    const rows = await listRequests(database.queries, {}, 100_000);
    const keptMs = (world.plan.retentionHours ?? 24) * 3_600_000;
    const present = new Set(rows.map(({ requestId }) => requestId));
    const isKept = world.plan.retentionHours === undefined;
    const sending = { chance: chanceFrom(world.plan.seed), from: world.plan.startsAt + Math.floor(scheduler.now()) };
    for (const fault of await eventFaults(database.queries, {
      ...{ ...sending, requests: present, isKept },
      earlier: world.earlierRows,
    }))
      violate('events', fault);
    for (const { requestId, startedAt } of rowsOfLedger.values())
      if (startedAt > world.plan.startsAt + scheduler.now() - keptMs && !present.has(requestId))
        violate('retention', `the row of ${requestId} was removed too early`);
    // Where rows are removed, those count that were there.
    const removed = world.plan.retentionHours === undefined ? [] : rowsOfLedger.keys();
    const known = new Set([...removed, ...rows.map(({ requestId }) => requestId)]);
    for (const [id, { event }] of told) if (!known.has(id)) violate('money', 'told a cost, and has no row', event.id);
    const ofIdentities = database.queries
      .selectFrom('keys')
      .select(['hash', 'name'])
      .where('identity_id', 'is not', null);
    for (const { hash, name } of await ofIdentities.execute())
      if (world.keys.every((key) => key.hash !== hash)) violate('rest', `${name} is an account that nobody is`);
    const { entries } = await database.queries
      .selectFrom('audit')
      .select((row) => row.fn.countAll<bigint>().as('entries'))
      .executeTakeFirstOrThrow();
    if (Number(entries) < world.mutations()) violate('audit', `${entries} entries for ${world.mutations()} changes`);
  }

  return {
    violations: () => violations,
    check: () => {
      for (; seen < world.calls.length; seen += 1) open.add(world.calls[seen]!);
      for (const call of open) {
        if (call.end() === 'open') continue;
        open.delete(call);
        if (!checked.has(call)) checkCall(call);
        checked.add(call);
      }
      for (; seenFaults < world.faults.length; seenFaults += 1) {
        const { invariant, text, tightened } = world.faults[seenFaults]!;
        if (tightened === world.tightened || tightened === undefined) violate(invariant, text);
      }
      for (const fault of world.cluster?.faults() ?? []) violate('cluster', fault);
    },
    checkBooks,
    checkRest,
  };
}
