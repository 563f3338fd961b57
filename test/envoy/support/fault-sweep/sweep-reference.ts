import type { FaultPosition } from '../../../programmable-engine/fault-position.ts';
import { numberIds } from './number-ids.ts';
import type { PutTogether } from '../put-together.ts';
import type { SweepShape } from './sweep-shapes.ts';

/** One event of the unbroken stream, as the engine sends it to the gateway. */
export interface ReferenceEvent {
  /** Bytes of the body up to its end. */
  readonly endByte: number;
  /** Choices of which it carries output. */
  readonly output: readonly number[];
}

/** An answer as it is when nothing breaks: what all others are compared with. */
export interface SweepReference {
  readonly shape: SweepShape;
  readonly choices: PutTogether['choices'];
  readonly usage: PutTogether['usage'];
  /** `[DONE]` included. */
  readonly events: readonly ReferenceEvent[];
}

interface EngineChunk {
  readonly choices: readonly {
    readonly index: number;
    readonly delta: Readonly<Record<string, unknown>>;
  }[];
}

const spoken = ['content', 'reasoning', 'reasoning_content', 'tool_calls', 'refusal'];

function eventOf(frame: string, endByte: number): ReferenceEvent {
  if (frame === 'data: [DONE]') return { endByte, output: [] };
  const { choices } = JSON.parse(frame.slice('data: '.length)) as EngineChunk;
  const says = ({ delta }: EngineChunk['choices'][number]): boolean =>
    spoken.some((name) => delta[name] !== undefined && delta[name] !== null && delta[name] !== '');
  return { endByte, output: choices.filter(says).map(({ index }) => index) };
}

/** The events of an engine's stream and where they end. */
function eventsOf(stream: string): readonly ReferenceEvent[] {
  let endByte = 0;
  return stream
    .split('\n\n')
    .slice(0, -1)
    .map((frame) => {
      endByte += Buffer.byteLength(frame) + 2;
      return eventOf(frame, endByte);
    });
}

/** Takes the gateway's unbroken answer, and the engine's own stream of the same. */
export function referenceOf(
  shape: SweepShape,
  given: { readonly answer: PutTogether; readonly engine: string },
): SweepReference {
  const { choices, usage } = given.answer;
  return {
    shape,
    choices: choices.map((choice) => numberIds(choice)),
    usage,
    events: eventsOf(given.engine),
  };
}

/** How many choices have been begun when a fault strikes. */
export function sentBefore({ events }: SweepReference, at: FaultPosition): number {
  const sent = events.filter(({ endByte }, index) => {
    if (typeof at === 'string') return false;
    return 'events' in at ? index < at.events : endByte <= at.bytes;
  });
  return new Set(sent.flatMap(({ output }) => output)).size;
}
