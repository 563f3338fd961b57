// @suite long
import type Anthropic from '@anthropic-ai/sdk';
import { messagesSurface } from './support/fault-sweep/sweep-surface.ts';
import { sweepSurface } from './support/fault-sweep/sweep-surface-suite.ts';

sweepSurface({
  surface: messagesSurface,
  seed: 20_260_806,
  // This surface has no choices. Calls side by side are put in a row by its writer, and stops are named by it.
  bent: ['reasoned-tools', 'interleaved-tools', 'whole-tools', 'mixed', 'refused', 'stopped', 'unicode', 'capped'],
  streamWithClient: ({ weir, body, headers, fetch }) =>
    weir
      .messagesClient({ apiKey: weir.key })
      .withOptions({ fetch })
      .messages.stream(body as Anthropic.MessageStreamParams, { headers })
      .finalMessage(),
  // The client keeps the usage of its own format alone.
  complete: (final, { usage: { cost } }) => {
    const { usage, ...rest } = final as Anthropic.Message;
    return { ...rest, usage: { ...usage, cost: Number(cost) } };
  },
  titles: { stream: 'a messages stream', whole: 'a message', failure: 'an error event' },
});
