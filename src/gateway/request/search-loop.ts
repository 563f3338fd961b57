import type { Round } from '../../core/capability.ts';
import type { Route } from '../../core/catalog.ts';
import type { RelayedEvent, SearchEvent } from '../../core/event.ts';
import { Failure } from '../../core/failure.ts';
import type { Money } from '../../core/money.ts';
import { withFirst } from '../core/plan.ts';
import type { Message, Request } from '../../core/request.ts';
import { writeTraceparent } from '../../core/trace.ts';
import {
  type SearchFinding,
  type SearchProvider,
  type SearchSeal,
  type Source,
  webSearchName,
} from '../../core/web-search.ts';
import { type Citing, writeSearchError, writeSources } from '../dialects/search-words.ts';
import type { Dispatch } from '../dispatch/dispatch.ts';
import type { DispatchEnd } from '../dispatch/dispatch-end.ts';
import { estimatePrompt } from '../metering/estimate-prompt.ts';
import { createRoundTotals, type RoundTotals } from '../metering/round-totals.ts';
import { type Citer, createCiter, quote } from '../web-search/cite.ts';
import { collectRound, type RoundOutput } from '../web-search/collect-round.ts';
import { fitSources } from '../web-search/fit-sources.ts';
import { maxRounds, maxSearches, nextStep, type ParsedQuery } from '../web-search/next-step.ts';
import { type CallsUnderWay, createCallsUnderWay } from './calls-under-way.ts';
import { callModel, type ModelCall, type ModelServices } from './call-model.ts';

export interface WebSearch {
  readonly seal: SearchSeal;
  /** Absent: no search is made, and results of earlier searches can still be sent back. */
  readonly provider?: SearchProvider | undefined;
  /** The price of one search. */
  readonly price: Money;
}

/** One result of a search, for the model and for the caller. */
interface Found {
  readonly event: SearchEvent & { readonly type: 'search-result' };
  readonly words: string;
}

/** Tokens that are kept free for the answer when results are cut to fit the context window. */
const minAnswer = 1024;

/** Throws `web_search_unavailable` for a request that may search, if the deployment has no provider. */
export function checkSearch({ webSearch }: Omit<Request, 'messages'>, search: WebSearch | undefined): void {
  if (webSearch === undefined || search?.provider !== undefined) return;
  throw new Failure('web_search_unavailable', 'tools: web search is not enabled on this deployment');
}

/** Whether the search loop answers a request: the request may search, or sends back results of earlier searches. */
export function takesRounds({ webSearch, sources = [] }: Omit<Request, 'messages'>): boolean {
  return webSearch !== undefined || sources.length > 0;
}

interface SearchAsk extends Omit<ModelCall, 'round' | 'deliver'> {
  readonly deliver: (events: readonly RelayedEvent[]) => void;
}

interface SearchServices extends ModelServices {
  readonly search: WebSearch;
}

/** The state of an answer that may take several rounds. */
interface SearchRun {
  readonly ask: SearchAsk;
  readonly options: SearchServices;
  /** By number: the sources of the request, and those found since. */
  readonly sources: Map<number, Source>;
  readonly citing: Citing;
  readonly citer: Citer;
  readonly totals: RoundTotals;
  searchesLeft: number;
  attempts: number;
  routes: number;
  isContinued: boolean;
  lastRoute: Route | undefined;
  readonly calls: CallsUnderWay;
}

/**
 * Answers a request that may search the web. Calls the model, makes the searches that the model asks for, and calls it
 * again with the results, until it has answered. The caller gets one answer: one stream, one usage, one end. The model may
 * also cite results of earlier searches that the request sends back.
 */
export function runSearchLoop(ask: SearchAsk, options: SearchServices): Dispatch {
  const { prepared, counters, plan } = ask;
  const { request } = prepared;
  const { seal } = options.search;
  const sources = new Map((request.sources ?? []).map((source) => [source.number, source]));
  const citing: Citing =
    request.responseFormat === undefined || request.responseFormat.type === 'text' ? 'marks' : 'none';
  const citer = createCiter({
    isKnown: (number) => sources.has(number),
    citationOf: (number, said) => {
      const source = sources.get(number);
      if (source === undefined) return undefined;
      const { url, title, text } = source;
      return { url, title, citedText: quote(text, said), sealed: seal.sealNumber(number) };
    },
  });
  const totals = createRoundTotals({
    countText: counters?.countText,
    contextLength: plan.model.contextLength,
    countPrompt: async () => {
      const tokens = await counters?.countPrompt();
      return tokens === undefined
        ? { tokens: estimatePrompt(prepared.shape, plan.model), countedBy: 'estimate' }
        : { tokens, countedBy: 'tokenizer' };
    },
  });
  const calls = createCallsUnderWay();
  const run: SearchRun = {
    ask,
    options,
    sources,
    citing,
    citer,
    totals,
    searchesLeft: Math.min(request.webSearch?.maxUses ?? maxSearches, maxSearches),
    attempts: 0,
    routes: 0,
    isContinued: false,
    lastRoute: undefined,
    calls,
  };
  return { ended: answer(run), pause: calls.pause, resume: calls.resume };
}

/** Calls the model once. Resolves when its output has ended. */
async function call(
  run: SearchRun,
  round: Round | undefined,
): Promise<{ readonly end: DispatchEnd; readonly said: RoundOutput }> {
  const { ask, totals } = run;
  const collector = collectRound({
    citer: run.citing === 'marks' ? run.citer : undefined,
    searches: ask.prepared.request.webSearch !== undefined,
  });
  const called = callModel(
    {
      ...ask,
      // The cache of the route that answered last has the conversation.
      plan: withFirst(ask.plan, run.lastRoute),
      round,
      deliver: (events) => {
        const usage = totals.take(events);
        const passed = collector.push(events);
        if (passed.length > 0 || usage !== undefined) ask.deliver(usage === undefined ? passed : [...passed, usage]);
      },
    },
    run.options,
  );
  const end = await run.calls.ended(called);
  run.attempts += end.attempts;
  run.routes = Math.max(run.routes, end.routes);
  if ('route' in end && end.route !== undefined) run.lastRoute = end.route;
  if (end.kind === 'completed') run.isContinued ||= end.isContinued;
  // The held text is sent even if the answer broke off, because the caller pays for all text that has arrived.
  if (end.kind !== 'cancelled') {
    const rest = end.kind === 'completed' ? collector.flush() : collector.breakOff();
    if (rest.length > 0) ask.deliver(rest);
  }
  return { end, said: collector.output() };
}

/**
 * Returns the end of an answer that a later call could not complete. An answer that does not stream has failed, because nothing
 * of it has been sent.
 */
function brokenOff({ attempts, routes, lastRoute, ask }: SearchRun): DispatchEnd {
  return lastRoute === undefined || !ask.prepared.request.stream
    ? { kind: 'failed', attempts, routes, isPartial: true }
    : { kind: 'interrupted', route: lastRoute, attempts, routes };
}

function cancelled({ attempts, routes, lastRoute }: SearchRun, heard: boolean): DispatchEnd {
  return { kind: 'cancelled', attempts, routes, route: lastRoute, heard };
}

async function answer(run: SearchRun): Promise<DispatchEnd> {
  const { totals } = run;
  const { deliver } = run.ask;
  const { maxOutputTokens } = run.ask.prepared.request;
  const turns: Message[] = [];
  let round: Round | undefined;
  for (let rounds = 1; ; rounds += 1) {
    const isFirst = round === undefined;
    // An error of the first call fails the request. An error of a later call ends the answer.
    const called = await call(run, round).catch((error: unknown) => {
      if (isFirst) throw error;
      return undefined;
    });
    if (called === undefined) return brokenOff(run);
    const { end, said } = called;
    if (end.kind === 'cancelled') {
      // The prompt of this round was counted before its call, but no engine received it.
      if (!end.heard && !isFirst) deliver([totals.past()]);
      return cancelled(run, end.heard || !isFirst);
    }
    if (end.kind !== 'completed')
      return isFirst ? { ...end, attempts: run.attempts, routes: run.routes } : brokenOff(run);
    const used = await totals.close();
    const output = maxOutputTokens === undefined ? undefined : maxOutputTokens - totals.output();
    const step = nextStep(said, { searches: run.searchesLeft, rounds: maxRounds - rounds, output });
    const ending = step.kind === 'finish' ? step : step.after;
    deliver([used]);
    if (step.kind === 'search') {
      const found = await searchAll(run, step.searches);
      if (found === undefined) return cancelled(run, true);
      turns.push(...turnsOf(said, step.searches, found));
      if (step.after.kind === 'round') {
        deliver([await totals.open(found.map(({ words }) => words).join('\n'))]);
        round = { turns: [...turns], search: step.after.search, maxOutputTokens: output };
      }
    }
    if (ending.kind === 'finish') {
      deliver([{ type: 'finish', choice: 0, ...ending.finish }]);
      const { attempts, routes, isContinued } = run;
      return { kind: 'completed', route: end.route, attempts, routes, isContinued };
    }
  }
}

/** Makes the searches of a round at the same time, and sends their events in order. Undefined: the caller left. */
async function searchAll(run: SearchRun, steps: readonly ParsedQuery[]): Promise<readonly Found[] | undefined> {
  const { deliver, signal, prepared, plan } = run.ask;
  const answer = Math.max(minAnswer, Math.min(prepared.request.maxOutputTokens ?? 0, 4096));
  const conversation = run.totals.conversation() + answer;
  const roomTokens = (plan.model.contextLength - conversation) / steps.length;
  const findings = steps.map((step) => (step.kind === 'query' ? find(run, step.query) : undefined));
  run.searchesLeft -= findings.filter((finding) => finding !== undefined).length;
  const found: Found[] = [];
  for (const [at, step] of steps.entries()) {
    // Ids of this format have no special character except the underscore.
    const id = `srvtoolu_${run.options.newId().replaceAll('-', '_')}`;
    deliver([{ type: 'search-call', choice: 0, id, input: step.input }]);
    const finding = await findings[at];
    if (signal.aborted) return undefined;
    const one = step.kind === 'refused' ? refused(id, step.code) : resultOf(run, finding, { id, roomTokens });
    deliver([one.event]);
    found.push(one);
  }
  return found;
}

async function find({ ask, options }: SearchRun, query: string): Promise<SearchFinding> {
  const { provider } = options.search;
  if (provider === undefined) return { kind: 'error', code: 'unavailable', detail: 'no provider' };
  const { domains, location } = ask.prepared.request.webSearch ?? {};
  const begun = options.clock.elapsed();
  const span = ask.trace?.child();
  const traceparent = span && writeTraceparent(span);
  const finding = await provider.search({ query, domains, location, traceparent }, ask.signal);
  ask.watch.progress({
    kind: 'searched',
    search: {
      provider: provider.name,
      durationMs: Math.round(options.clock.elapsed() - begun),
      spanId: span?.spanId,
      ...(finding.kind === 'found' ? { result: 'found' } : { result: finding.code, detail: finding.detail }),
    },
  });
  return finding;
}

function refused(id: string, code: Parameters<typeof writeSearchError>[0]): Found {
  return {
    event: { type: 'search-result', choice: 0, id, result: { kind: 'error', code } },
    words: writeSearchError(code),
  };
}

function resultOf(
  { options, sources, citing }: SearchRun,
  finding: SearchFinding | undefined,
  { id, roomTokens }: { readonly id: string; readonly roomTokens: number },
): Found {
  if (finding === undefined) return refused(id, 'unavailable');
  if (finding.kind === 'error') return refused(id, finding.code);
  const first = Math.max(0, ...sources.keys()) + 1;
  const fitting = fitSources(finding.hits, { first, roomTokens });
  if (fitting === undefined) return refused(id, 'request_too_large');
  for (const source of fitting) sources.set(source.number, source);
  const sealed = fitting.map((source) => {
    const { url, title, pageAge } = source;
    const text = options.search.seal.sealSource(source);
    return { url, title, sealed: text, ...(pageAge === undefined ? {} : { pageAge }) };
  });
  return {
    event: { type: 'search-result', choice: 0, id, result: { kind: 'found', sources: sealed } },
    words: writeSources(fitting, citing),
  };
}

/**
 * The messages that a round adds to the conversation. They equal the messages that are read when the caller sends the answer's
 * blocks back.
 */
function turnsOf(said: RoundOutput, steps: readonly ParsedQuery[], found: readonly Found[]): readonly Message[] {
  const calls = steps.map((step, at) => ({
    id: found[at]?.event.id ?? '',
    name: webSearchName,
    arguments: step.input,
  }));
  return [
    {
      role: 'assistant',
      ...(said.text === '' ? {} : { content: said.text }),
      ...(said.reasoning === '' ? {} : { reasoning: said.reasoning }),
      toolCalls: calls,
    },
    ...found.map(({ event, words }): Message => ({ role: 'tool', toolCallId: event.id, content: words })),
  ];
}
