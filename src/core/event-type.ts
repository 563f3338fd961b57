/**
 * The events that leave the house, by the kind that the outbox stores: their `type` in CloudEvents 1.0 (docs/how-to/events.md).
 * A further one is a line here and a source in `src/books/outbox/event-sources.ts`, which the compiler then asks for.
 */
export const eventTypes = {
  request: 'dev.weir.request.settled',
  correction: 'dev.weir.ledger.correction',
  credit: 'dev.weir.credit',
  alert: 'dev.weir.alert',
  audit: 'dev.weir.audit',
  statement: 'dev.weir.statement.closed',
} as const;

export type EventKind = keyof typeof eventTypes;

/** The kind of an event's type. Undefined: there is no such type. */
export function eventKindOf(type: string): EventKind | undefined {
  return eventKinds.find((kind) => eventTypes[kind] === type);
}

// oxlint-disable-next-line typescript/consistent-type-assertions -- the keys of a constant
export const eventKinds = Object.keys(eventTypes) as readonly EventKind[];
