import { checkFirstToken } from '../../gateway/admission/overload.ts';
import type { Clock } from '../../core/clock.ts';
import type { Endpoint } from '../../core/endpoint.ts';
import { Failure } from '../../core/failure.ts';
import type { AnswerWatch, EndpointPicker, PickAnswer, PickAsk } from './picker.ts';
import type { PickReason } from '../../core/pool-prompt.ts';
import type { AffinityOf } from '../../gateway/routing/affinity.ts';
import { followInPool, type PoolAsk, pickInPool } from '../../gateway/routing/health/pool-choice.ts';
import type { PoolCandidate } from '../../gateway/routing/pool/pool.ts';
import { type AnswerReader, createAnswerReader } from './read-answer.ts';
import type { PromptReader, ReadPrompt } from './read-prompt.ts';
import { createSenders, type Sender, type SendersOptions } from './senders.ts';

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

export interface RunningPicker extends EndpointPicker {
  /** Sets the endpoints of the pool. What is known of the others is forgotten. */
  readonly setEndpoints: (endpoints: readonly Endpoint[]) => void;
  readonly endpoints: () => number;
}

/** An engine that answers with one of these has not worked on the request: it has failed, or it is full. */
const isFailure = (status: number): boolean => status >= 500 || status === 429;

/** Picks the endpoints of one pool, by cache, queue and speed, and learns from the answers that the gateway shows. */
export function createEndpointPicker(options: EndpointPickerOptions): RunningPicker {
  const { name: poolName, affinityOf, readPrompt, clock, random, events } = options;
  const senders = createSenders(options);
  let endpoints: readonly Endpoint[] = [];

  function refuse(status: 429 | 503, message: string): PickAnswer {
    events.refused(status);
    return { kind: 'refused', status, message };
  }

  function choose({ sender: senderName, subset }: PickAsk, { prompt, stream, conversation }: ReadPrompt): PickAnswer {
    const now = clock.elapsed();
    const sender = senders.asks(now, senderName);
    const among = within(endpoints, subset).map(({ name }): PoolCandidate => ({
      name,
      success: sender.success(now, name),
    }));
    const ask: SenderAsk = { ...sender.view, sender, prompt };
    if (isTooLate(ask, among)) return refuse(429, `No endpoint of ${poolName} would answer in time right now.`);
    const first = pickInPool(among, ask, { now, affinity: affinityOf(conversation), turn: random() });
    if (first === undefined) {
      const which = subset === undefined ? `Pool ${poolName}` : `The subset of pool ${poolName}`;
      return refuse(503, `${which} has no ready endpoint.`);
    }
    events.picked(first.picked.why);
    const order = [first.name, ...inReserve(among, ask, first.name)];
    return { kind: 'picked', endpoints: order, answer: follow(ask, { order, stream }) };
  }

  function isTooLate({ pool, prompt }: PoolAsk, among: readonly PoolCandidate[]): boolean {
    const { firstTokenMs } = options;
    if (firstTokenMs === undefined || among.length === 0) return false;
    try {
      const wait = pool.firstTokenWait(clock.elapsed(), { prompt, among });
      checkFirstToken({ id: poolName, serviceLevel: { firstTokenMs } }, [wait], random);
      return false;
    } catch (error) {
      if (error instanceof Failure) return true;
      throw error;
    }
  }

  /** The endpoints to ask if the picked one fails, the best of the others first. */
  function inReserve(among: readonly PoolCandidate[], { pool, prompt }: PoolAsk, first: string): readonly string[] {
    const reserve: string[] = [];
    let others = among.filter(({ name }) => name !== first);
    while (reserve.length < options.retryEndpoints && others.length > 0) {
      const next = pool.pick(clock.elapsed(), { prompt, among: others, turn: random(), mayExplore: false });
      const name = others[next?.index ?? -1]?.name;
      if (name === undefined) break;
      reserve.push(name);
      others = others.filter((other) => other.name !== name);
    }
    return reserve;
  }

  function follow(
    ask: SenderAsk,
    { order, stream }: { readonly order: readonly string[]; readonly stream: boolean },
  ): AnswerWatch {
    let [name = ''] = order;
    const attempt = followInPool(ask, { name, stream, elapsed: clock.elapsed });
    /** Undefined: no head has come, or the answer is no answer of an engine that worked. */
    let reader: AnswerReader | undefined;
    let hasOutput = false;
    /** The time of an attempt that was moved says nothing, because it is not known when it began at the other endpoint. */
    let isMoved = false;
    const record = (endpoint: string, success: 0 | 1): void => ask.sender.record(clock.elapsed(), endpoint, success);

    /** The endpoints before the one that has answered have failed. */
    function moveTo(served: string): void {
      if (served === name || !endpoints.some((one) => one.name === served)) return;
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

  return {
    endpoints: () => endpoints.length,
    setEndpoints: (now) => {
      endpoints = now;
      senders.setEndpoints(new Set(now.map(({ name }) => name)));
    },
    pick: (ask: PickAsk) => {
      const read = readPrompt(ask);
      return read instanceof Promise ? read.then((prompt) => choose(ask, prompt)) : choose(ask, read);
    },
  };
}

/** The endpoints of a subset. An address without a port stands for all of its ports, as in the extension's own picker. */
function within(endpoints: readonly Endpoint[], subset: readonly string[] | undefined): readonly Endpoint[] {
  if (subset === undefined) return endpoints;
  const wanted = new Set(subset);
  return endpoints.filter(({ name, address }) => wanted.has(name) || wanted.has(address));
}
