import type { BehaviourInput } from '../../programmable-engine/behaviour.ts';

/** How the bytes of an engine's stream come, or are framed. None of it may be seen. */
export const byteCuts: readonly BehaviourInput[] = [
  ...[1, 2, 3, 7, 64].map((chunkBytes) => ({ chunkBytes })),
  { eventsPerWrite: 5 },
  { eventsPerWrite: 1_000_000 },
  { chunkBytes: 5, lineEnding: 'crlf', sseFields: true },
  { chunkBytes: 11, lineEnding: 'cr', dataSpace: false },
  { chunkBytes: 13, multilineData: true },
];
