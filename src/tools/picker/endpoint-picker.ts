import { checkFirstToken } from '../../gateway/admission/overload.ts';
import type { Clock } from '../../core/clock.ts';
import type { Endpoint } from '../../core/endpoint.ts';
import { Failure } from '../../core/failure.ts';
import type { AnswerWatch, PickAnswer, PickAsk } from './picker.ts';
import type { PickReason } from '../../core/pool-prompt.ts';
import type { AffinityOf } from '../../gateway/routing/affinity.ts';
import { followInPool, type PoolAsk, pickInPool } from '../../gateway/routing/health/pool-choice.ts';
import type { PoolCandidate } from '../../gateway/routing/pool/pool-state.ts';
import { type AnswerReader, createAnswerReader } from './read-answer.ts';
import type { PromptReader, ReadPrompt } from './read-prompt.ts';
import { createSenders, type Sender, type Senders, type SendersOptions } from './senders.ts';

export interface EndpointPickerOptions extends SendersOptions {
  /** The name of the pool, for messages. */
  readonly name: string;
  readonly affinityOf: AffinityOf;
  readonly readPrompt: PromptReader;
  /** How many endpoints are named in case the picked one fails. */
  readonly retryEndpoints: number;
  /** Requests whose first token would come later at each endpoint are refused. Undefined: none are. */
  readonly firstTokenMs: number | undefined;
  readonly clock: Pick<Clock, 'elapsed'>;
  readonly random: () => number;
  readonly events: PickEvents;
}

/** Receives what happens, for metrics. */
export interface PickEvents {
  readonly picked: (why: PickReason) => void;
  readonly refused: (status: 429 | 503) => void;
}

/** A request whose prompt was read, of a sender. */
interface SenderAsk extends PoolAsk {
  readonly sender: Sender;
}

export type RunningPicker = ReturnType<typeof createEndpointPicker>;

/** An engine that answers with one of these has not worked on the request: it has failed, or it is full. */
const isFailure = (status: number): boolean => status >= 500 || status === 429;

interface PickerState extends Omit<EndpointPickerOptions, 'readPrompt'> {
  readonly senders: Senders;
  endpoints: readonly Endpoint[];
}

/** Picks the endpoints of one pool, by cache, queue and speed, and learns from the answers that the gateway shows. */
export function createEndpointPicker({ readPrompt, ...options }: EndpointPickerOptions) {
  const state: PickerState = { ...options, senders: createSenders(options), endpoints: [] };
  return {
    endpoints: (): number => state.endpoints.length,
    /** Sets the endpoints of the pool. What is known of the others is forgotten. */
    setEndpoints: (now: readonly Endpoint[]): void => {
      state.endpoints = now;
      state.senders.setEndpoints(new Set(now.map(({ name }) => name)));
    },
    pick: (ask: PickAsk) => {
      const read = readPrompt(ask);
      return read instanceof Promise ? read.then((prompt) => choose(state, ask, prompt)) : choose(state, ask, read);
    },
  };
}

function refuse(state: PickerState, status: 429 | 503, message: string): PickAnswer {
  state.events.refused(status);
  return { kind: 'refused', status, message };
}

function choose(
  state: PickerState,
  { sender: senderName, subset }: PickAsk,
  { prompt, stream, conversation }: ReadPrompt,
): PickAnswer {
  const now = state.clock.elapsed();
  const sender = state.senders.asks(now, senderName);
  const among = within(state.endpoints, subset).map(({ name }): PoolCandidate => ({
    name,
    success: sender.success(now, name),
  }));
  const ask: SenderAsk = { ...sender.view, sender, prompt };
  if (isTooLate(state, ask, among))
    return refuse(state, 429, `No endpoint of ${state.name} would answer in time right now.`);
  const first = pickInPool(among, ask, { now, affinity: state.affinityOf(conversation), turn: state.random() });
  if (first === undefined) {
    const which = subset === undefined ? `Pool ${state.name}` : `The subset of pool ${state.name}`;
    return refuse(state, 503, `${which} has no ready endpoint.`);
  }
  state.events.picked(first.picked.why);
  const others = among.filter(({ name }) => name !== first.name);
  const order = [first.name, ...inReserve(state, others, ask)];
  return { kind: 'picked', endpoints: order, answer: follow(state, ask, { order, stream }) };
}

function isTooLate(
  { name, firstTokenMs, clock, random }: PickerState,
  { pool, prompt }: PoolAsk,
  among: readonly PoolCandidate[],
): boolean {
  if (firstTokenMs === undefined || among.length === 0) return false;
  try {
    const wait = pool.firstTokenWait(clock.elapsed(), { prompt, among });
    checkFirstToken({ id: name, serviceLevel: { firstTokenMs } }, [wait], random);
    return false;
  } catch (error) {
    if (error instanceof Failure) return true;
    throw error;
  }
}

/** The endpoints to ask if the picked one fails, the best of the others first. */
function inReserve(
  { retryEndpoints, clock, random }: PickerState,
  candidates: readonly PoolCandidate[],
  { pool, prompt }: PoolAsk,
): readonly string[] {
  const reserve: string[] = [];
  let others = candidates;
  while (reserve.length < retryEndpoints && others.length > 0) {
    const next = pool.pick(clock.elapsed(), { prompt, among: others, turn: random(), mayExplore: false });
    const name = others[next?.index ?? -1]?.name;
    if (name === undefined) break;
    reserve.push(name);
    others = others.filter((other) => other.name !== name);
  }
  return reserve;
}

function follow(
  state: PickerState,
  ask: SenderAsk,
  { order, stream }: { readonly order: readonly string[]; readonly stream: boolean },
): AnswerWatch {
  let [name = ''] = order;
  const attempt = followInPool(ask, { name, stream, elapsed: state.clock.elapsed });
  /** Undefined: no head has come, or the answer is no answer of an engine that worked. */
  let reader: AnswerReader | undefined;
  let hasOutput = false;
  /** The time of an attempt that was moved says nothing, because it is not known when it began at the other endpoint. */
  let isMoved = false;
  const record = (endpoint: string, success: 0 | 1): void =>
    ask.sender.record(state.clock.elapsed(), endpoint, success);

  /** The endpoints before the one that has answered have failed. */
  function moveTo(served: string): void {
    if (served === name || !state.endpoints.some((one) => one.name === served)) return;
    for (const failed of order.slice(0, Math.max(1, order.indexOf(served)))) record(failed, 0);
    name = served;
    isMoved = true;
    attempt.movedTo(served);
  }

  return {
    head: ({ status, header, served }) => {
      if (served !== undefined) moveTo(served);
      if (isFailure(status)) record(name, 0);
      else if (status < 300) reader = createAnswerReader({ header });
    },
    body: (piece) => {
      if (reader?.push(piece) !== true || hasOutput) return;
      hasOutput = true;
      if (!isMoved) attempt.output();
    },
    ended: (how) => {
      if (how === 'broken' || reader === undefined) {
        attempt.ended({ kind: 'aborted' });
        return;
      }
      record(name, 1);
      const { outputTokens, prompt } = reader.end();
      attempt.ended({ kind: 'complete', tokens: isMoved ? undefined : outputTokens, prompt });
    },
  };
}

/** The endpoints of a subset. An address without a port stands for all of its ports, as in the extension's own picker. */
function within(endpoints: readonly Endpoint[], subset: readonly string[] | undefined): readonly Endpoint[] {
  if (subset === undefined) return endpoints;
  const wanted = new Set(subset);
  return endpoints.filter(({ name, address }) => wanted.has(name) || wanted.has(address));
}
