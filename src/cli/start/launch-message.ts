import * as z from 'zod';

/** What the service tells whoever started it, over the channel it was given. */
const serviceMessage = z.discriminatedUnion('type', [
  /** It serves: ext_proc listens and Envoy has confirmed the first clusters. */
  z.object({ type: z.literal('ready'), opsPort: z.int(), adminPort: z.int().optional() }),
  /** It is about to end, for a reason the operator must read. */
  z.object({ type: z.literal('fatal'), message: z.string() }),
  /** The answer to `ping`. */
  z.object({ type: z.literal('alive') }),
]);
export type ServiceMessage = z.output<typeof serviceMessage>;

/** Reads a message; undefined when it is none of ours. */
export function readServiceMessage(message: unknown): ServiceMessage | undefined {
  return serviceMessage.safeParse(message).data;
}
