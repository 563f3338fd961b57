// @suite long
import { responsesSurface } from './support/fault-sweep/sweep-surface.ts';
import { sweepSurface } from './support/fault-sweep/sweep-surface-suite.ts';

sweepSurface({
  surface: responsesSurface,
  seed: 20_260_826,
  // This surface has no choices and no stop sequences. Calls side by side stay so.
  bent: ['reasoned-tools', 'interleaved-tools', 'whole-tools', 'mixed', 'refused', 'unicode', 'capped'],
  streamWithClient: ({ weir, body, headers, fetch }) => {
    const { responses } = weir.client({ apiKey: weir.key }).withOptions({ fetch });
    return responses.stream(body as Parameters<typeof responses.stream>[0], { headers }).finalResponse();
  },
  titles: { stream: 'a responses stream', whole: 'a response', failure: 'response.failed' },
});
