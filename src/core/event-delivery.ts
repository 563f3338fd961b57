import type { EventKind } from './event-type.ts';

// What the database, which keeps the outbox, and the sender hand each other (docs/how-to/events.md).

/**
 * Who gets what. `events`: CloudEvents in batches, in order, tried without end. `alerts`: webhooks about thresholds, one
 * message each and in any order, given up after a day.
 */
export const subscriptionNames = ['events', 'alerts'] as const;
export type SubscriptionName = (typeof subscriptionNames)[number];

/** `message`: a webhook about thresholds, whose body `alerts` has. `replay`: see `replayEvents`. */
export type OutboxKind = EventKind | 'message' | 'replay';

export interface EventSubscription {
  readonly name: SubscriptionName;
  readonly kinds: readonly OutboxKind[];
}

/** A POST: the events of some rows of the outbox. The same rows make the same id and the same body. */
export interface EventMessage {
  readonly id: string;
  readonly body: string;
  readonly events: number;
  /** The rows that are done once the receiver has accepted it. */
  readonly rows: readonly bigint[];
  /** Of a replay: where it goes on after this message, in the same row. */
  readonly goesOn: string | undefined;
  /** Events that cannot be sent, because retention has deleted their rows. */
  readonly missing: number;
}

/** The end of a page of messages. `failed`: the first row of the message that the receiver did not accept. */
export interface DeliveryEnd {
  readonly subscription: SubscriptionName;
  readonly holder: string;
  readonly accepted: readonly Pick<EventMessage, 'rows' | 'goesOn' | 'missing'>[];
  readonly failed: bigint | undefined;
  /** How long the receiver asked to be left alone then, milliseconds. Absent: it did not. */
  readonly retryAfterMs?: number | undefined;
}

/** What waits in the database: the same on every service. */
export interface WaitingFigures {
  readonly waiting: number;
  /** The age of the oldest of them; 0: none waits. */
  readonly lagMs: number;
  /** Rows, those of a later time and of replays included. */
  readonly rows: number;
  /** Events that were dropped, and the moment of the oldest of them that no replay has sent since. */
  readonly dropped: number;
  readonly droppedSince: number | undefined;
}

/** A subscription, with the deliveries of this process since its start. */
export interface SubscriptionFigures extends WaitingFigures {
  readonly name: SubscriptionName;
  readonly delivered: number;
  readonly failedTries: number;
}

const hourMs = 3_600_000;
const firstPauseMs = 5_000;
const maxPauseMs = hourMs / 2;
/** The wait that a receiver can ask for. */
const maxAskedMs = 30 * 60_000;
/** A receiver of events that is back gets them soon. */
const maxEventPauseMs = 60_000;
const triedForMs = 24 * hourMs;

const pauseAfter = (tries: number): number => Math.min(firstPauseMs * 2 ** Math.min(tries - 1, 30), maxPauseMs);

/** The pauses between so many tries add up to a day. */
const maxTries = ((): number => {
  let tries = 1;
  for (let sum = pauseAfter(tries); sum <= triedForMs; sum += pauseAfter(tries)) tries += 1;
  return tries;
})();

/**
 * When a message that has failed so often is tried again, not before the receiver wants it. Undefined: it is given up, which
 * depends on the tries alone, so a clock that is set forward gives up no message, and one that is set back keeps none alive.
 */
export function nextTryAt({
  name,
  tries,
  now,
  retryAfterMs = 0,
}: Pick<EventSubscription, 'name'> &
  Pick<DeliveryEnd, 'retryAfterMs'> & { readonly tries: number; readonly now: number }): number | undefined {
  const ownMs = name === 'events' ? Math.min(pauseAfter(tries), maxEventPauseMs) : pauseAfter(tries);
  if (name === 'alerts' && tries >= maxTries) return undefined;
  return now + Math.max(ownMs, Math.min(retryAfterMs, maxAskedMs));
}

/** No row waits longer than this for its next try. A later date was written before the clock was set back. */
export const maxWaitMs = hourMs;
