import { parseUsd } from '../../src/core/money.ts';
import type { SettledRequest } from '../../src/core/settled-request.ts';
import { isJsonObject, parsedOr } from '../programmable-engine/json-value.ts';
import { listRequests } from '../../src/store/ledger/list-requests.ts';
import { verifyLedger } from '../../src/store/ledger/verify-ledger.ts';
import type { ChoiceAnswer } from '../programmable-engine/answer.ts';
import type { Call } from './caller.ts';
import { canary, type ExpectedAnswer, expectedAnswer } from './expected-answer.ts';
import { readAnswer, type ReceivedAnswer, type ReceivedChoice } from './received-answer.ts';
import { prices } from './catalog.ts';
import { tightBudget, type World } from './world-view.ts';

/** A promise that was not kept. */
export interface Violation {
  readonly invariant: string;
  readonly text: string;
  readonly atMs: number;
  /** The request that it is about. */
  readonly request: number | undefined;
}

export interface Invariants {
  /** After every event. */
  readonly check: () => void;
  /** Reads the database: now and then, and at the end. */
  readonly checkBooks: () => Promise<void>;
  /** When nothing runs any more. */
  readonly checkRest: () => Promise<void>;
  readonly violations: () => readonly Violation[];
}

/** A key that was stopped serves nothing that comes later than this, without a fault (docs/accounts.md: within a second). */
const stopDelayMs = 1_500;

export function createInvariants(world: World): Invariants {
  const { scheduler } = world;
  const violations: Violation[] = [];
  const open = new Set<Call>();
  const checked = new Set<Call>();
  const told = new Map<string, { readonly cost: bigint; readonly request: number }>();
  let seen = 0;

  function violate(invariant: string, text: string, request?: number): void {
    if (violations.length >= 20) return;
    violations.push({ invariant, text, atMs: scheduler.now(), request });
    scheduler.log.write(`VIOLATION ${invariant} ${request === undefined ? '' : `r${request} `}${text}`);
  }

  const isCalm = (from: number, until: number): boolean =>
    world.spells.every(([begin, end]) => end < from || begin > until);

  function checkCall(call: Call): void {
    const { event } = call;
    const body = call.body();
    const isSuccess = call.status() === 200;
    const answer = isSuccess ? readAnswer(event, body, call.end() === 'ended') : undefined;
    const expected = expectedAnswer(event);
    for (const fault of answer?.faults ?? []) violate('format', fault, event.id);
    if (answer !== undefined) {
      if (call.end() === 'ended' && answer.end === 'open') violate('format', 'the answer has no end', event.id);
      for (const [index, choice] of answer.choices) {
        // A choice of which nothing characteristic was delivered is continued as a request for one choice: as the first.
        const wrong =
          index > 0 && differenceOf(choice, expected.choices[0], answer.end === 'whole') === undefined
            ? undefined
            : differenceOf(choice, expected.choices[index], answer.end === 'whole');
        if (wrong !== undefined) violate('answer', `choice ${index}: ${wrong}`, event.id);
      }
      if (answer.end === 'whole' && answer.choices.size !== event.choices)
        violate('answer', `${answer.choices.size} choices in place of ${event.choices}`, event.id);
      if (answer.id !== undefined && answer.cost !== undefined) {
        const cost = parseUsd(answer.cost);
        if (cost === undefined) violate('money', `the cost ${answer.cost} is no amount`, event.id);
        else told.set(answer.id, { cost, request: event.id });
      }
    }
    checkStopped(call, isSuccess);
    checkFailure(call, answer);
  }

  function checkStopped(call: Call, isSuccess: boolean): void {
    const stopped = world.stoppedAt.get(call.event.key);
    if (!isSuccess || stopped === undefined || call.startedAt < stopped + stopDelayMs) return;
    if (isCalm(stopped, call.startedAt)) violate('stopped key', 'is served', call.event.id);
  }

  /** Where an endpoint could have served, no failure reaches the caller. */
  function checkFailure(call: Call, answer: ReceivedAnswer | undefined): void {
    if (call.end() === 'left' || !isCalm(call.startedAt, call.endedAt())) return;
    if (world.engineSpells.some(([begin, end]) => end + 60_000 >= call.startedAt && begin <= call.endedAt())) return;
    const status = call.status() ?? 0;
    const isFailure = status >= 500 || answer?.end === 'error' || call.end() === 'broken';
    if (isFailure) violate('availability', `status ${status}: ${call.body().slice(-300)}`, call.event.id);
  }

  async function checkBooks(): Promise<void> {
    const database = world.database();
    if (database === undefined) return;
    let books: Awaited<ReturnType<typeof verifyLedger>>;
    let rows: readonly SettledRequest[];
    try {
      books = await verifyLedger(database.queries);
      rows = await listRequests(database.queries, {}, 100_000);
    } catch {
      // The disk fails.
      return;
    }
    for (const { name, balance, expected } of books.workspaces)
      if (balance !== expected) violate('money', `${name} has ${balance} in place of ${expected}`);
    const differences = [books.spendingDifferences, books.dayDifferences, books.rowDifferences].flat();
    for (const difference of differences.slice(0, 3))
      violate(
        'rollups',
        JSON.stringify(difference, (_, value) => (typeof value === 'bigint' ? String(value) : value)),
      );
    checkRows(rows);
    checkBudgets(rows);
  }

  function checkRows(rows: readonly SettledRequest[]): void {
    const known = new Map(rows.map((row) => [row.requestId, row]));
    for (const row of rows) {
      const number = Number(row.correlationId.slice(1));
      const outcome = world.outcomes.get(row.requestId);
      if (outcome === undefined || outcome.cost !== row.cost)
        violate('money', `a row of ${row.cost} that no service has settled so`, number);
      const call = callOf(number);
      if (call !== undefined) checkBill(row, call);
    }
    for (const [id, { cost, request }] of told) {
      const row = known.get(id);
      if (row !== undefined && row.cost !== cost) violate('money', `told ${cost}, billed ${row.cost}`, request);
    }
  }

  /** Without a fault, a key spends no more than its budget of a day, the last answers, and what others cost above their estimate. */
  function checkBudgets(rows: readonly SettledRequest[]): void {
    if (world.spells.length > 0) return;
    const largest = rows.reduce((most, { cost }) => (cost > most ? cost : most), 0n);
    for (const [number, { id, workspace }] of world.keys.entries()) {
      const isChanged = world.plan.events.some((event) => event.kind === 'budget' && event.key === number);
      if (number % 2 === 0 || workspace === 2 || isChanged) continue;
      const days = new Map<number, bigint>();
      for (const { keyId, startedAt, cost } of rows) {
        if (keyId !== id) continue;
        const day = Math.floor(startedAt / 86_400_000);
        days.set(day, (days.get(day) ?? 0n) + cost);
      }
      for (const [day, spent] of days)
        if (spent > tightBudget + 6n * largest) violate('budget', `key ${number} has spent ${spent} on day ${day}`);
    }
  }

  /**
   * No endpoint gets a request again. Each choice that broke off is continued by a race of its own, and the endpoint of
   * an attempt that a hedge has beaten may continue the answer.
   */
  function checkAttempts(): void {
    for (const [id, attempts] of world.attempts) {
      const call = callOf(Number(world.outcomes.get(id)?.correlationId.slice(1)));
      if (call === undefined) continue;
      const most = call.event.choices + (attempts.some(({ reason }) => reason === 'hedge') ? 1 : 0);
      const places = attempts.map(({ routeId, endpoint }) => `${routeId} ${endpoint}`);
      const often = places.find((place) => places.filter((other) => other === place).length > most);
      if (often !== undefined)
        violate('attempts', `${id} is tried more than ${most} times at ${often}: ${places.join(', ')}`, call.event.id);
    }
  }

  const billed = new Set<string>();

  /** Against the contract: nothing for a failure, at most the whole answer, and exactly its price when it is complete. */
  function checkBill(row: SettledRequest, call: Call): void {
    if (billed.has(row.requestId) || call.end() === 'open') return;
    billed.add(row.requestId);
    const { event } = call;
    const expected = expectedAnswer(event);
    const { promptTokens, completionTokens, cachedTokens = 0 } = row.usage;
    const price = factors.map((factor) => BigInt(factor) * plainCost({ promptTokens, completionTokens, cachedTokens }));
    if (row.kind !== 'failed' && row.kind !== 'incomplete' && !price.includes(row.cost))
      violate('bill', `${row.cost} for ${JSON.stringify(row.usage)}`, event.id);
    if ((row.kind === 'failed' || row.kind === 'incomplete' || row.kind === 'service-lost') && row.cost !== 0n)
      violate('bill', `${row.cost} for an answer that ${row.kind}`, event.id);
    const isOne = event.choices === 1 || row.attempts === 1;
    if (
      isOne &&
      completionTokens > expected.completionTokens + (row.countedBy === 'engine' ? 0 : expected.completionTokens)
    )
      violate('bill', `${completionTokens} output tokens of ${expected.completionTokens}`, event.id);
    if (row.kind === 'completed' && row.countedBy === 'engine' && isOne) checkExactly(row, expected, event.id);
  }

  function checkExactly({ usage, attempts }: SettledRequest, expected: ExpectedAnswer, id: number): void {
    if (usage.completionTokens !== expected.completionTokens)
      violate('bill', `${usage.completionTokens} output tokens in place of ${expected.completionTokens}`, id);
    if (attempts === 1 && usage.promptTokens !== expected.promptTokens)
      violate('bill', `${usage.promptTokens} prompt tokens in place of ${expected.promptTokens}`, id);
  }

  let byNumber = new Map<number, Call>();
  function callOf(number: number): Call | undefined {
    if (byNumber.size !== world.calls.length) byNumber = new Map(world.calls.map((call) => [call.event.id, call]));
    return byNumber.get(number);
  }

  async function checkRest(): Promise<void> {
    for (const call of world.calls) if (call.end() === 'open') violate('rest', 'the request has no end', call.event.id);
    for (const service of world.services) {
      if (service === undefined) {
        violate('rest', 'a service does not run');
        continue;
      }
      if (!service.isReady()) violate('rest', `service ${service.number} is not ready`);
      for (const [what, count] of Object.entries(service.leftovers()))
        if (count !== 0) violate('rest', `service ${service.number} has ${count} ${what} left`);
    }
    for (const engine of world.engines.values())
      if (engine.open() > 0) violate('rest', `${engine.open()} calls are open at ${engine.name}`);
    for (const [hash, { places, reserved }] of world.valkey?.underWay() ?? [])
      if (places > 0 || reserved > 0) violate('rest', `Valkey counts ${places} requests and ${reserved} for ${hash}`);
    await checkBooks();
    checkAttempts();
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
    const rows = await listRequests(database.queries, {}, 100_000);
    const known = new Set(rows.map(({ requestId }) => requestId));
    for (const [id, { request }] of told) if (!known.has(id)) violate('money', 'told a cost, and has no row', request);
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
    },
    checkBooks,
    checkRest,
  };
}

/** The factors of prices that a catalog of a world may have. */
const factors = [1, 2, 3];

/** The contract's price, told once more. */
function plainCost(usage: {
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly cachedTokens: number;
}): bigint {
  const uncached = usage.promptTokens - usage.cachedTokens;
  return (
    BigInt(uncached) * prices.prompt +
    BigInt(usage.cachedTokens) * prices.inputCacheRead +
    BigInt(usage.completionTokens) * prices.completion
  );
}

function differenceOf(
  choice: ReceivedChoice,
  expected: ChoiceAnswer | undefined,
  isWhole: boolean,
): string | undefined {
  if (expected === undefined) return 'was not asked for';
  const text = expected.content as unknown as string;
  const pairs: readonly (readonly [string, string, string])[] = [
    ['text', choice.text, text],
    ['reasoning', choice.reasoning, expected.reasoning],
  ];
  for (const [name, got, wanted] of pairs) {
    if (isWhole ? got !== wanted : !wanted.startsWith(got)) {
      let at = 0;
      while (at < wanted.length && got[at] === wanted[at]) at += 1;
      return `the ${name} differs at ${at}: ${JSON.stringify(got.slice(Math.max(0, at - 20), at + 30))} in place of ${JSON.stringify(wanted.slice(Math.max(0, at - 20), at + 30))}`;
    }
  }
  for (const [index, call] of choice.calls) {
    const wanted = expected.calls[index];
    // The cap has cut the arguments: each surface and transport has its own way to say so.
    if (isWhole && wanted !== undefined && typeof parsedOr(wanted.arguments) === 'string') continue;
    const isSame = isWhole
      ? compact(call.arguments) === compact(wanted?.arguments ?? '')
      : (wanted?.arguments ?? '').startsWith(uncut(call.arguments));
    if (!isSame)
      return `call ${index} has ${call.arguments.slice(0, 80)} in place of ${wanted?.arguments.slice(0, 80)}`;
  }
  if (isWhole && choice.calls.size !== expected.calls.length) return `${choice.calls.size} calls`;
  return undefined;
}

/** The arguments of a call that has no end, without the object that the reader of a messages stream puts around them. */
function uncut(json: string): string {
  const value = parsedOr(json);
  return isJsonObject(value) && typeof value['cut'] === 'string' ? value['cut'] : json;
}

function compact(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json));
  } catch {
    return json;
  }
}
