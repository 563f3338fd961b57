import type { Clock } from '../../src/core/clock.ts';
import { type RequestRecorder, recordRequest } from '../../src/telemetry/core/request-record.ts';
import type { BegunRequest } from '../../src/gateway/core/telemetry.ts';
import type { Stories } from '../../src/telemetry/stories/stories.ts';

/** Begins a request and records it for its story, as the service does. */
export function recordStory(
  stories: Pick<Stories, 'began' | 'ended'>,
  clock: Pick<Clock, 'now' | 'elapsed'>,
  given: Partial<BegunRequest> = {},
): RequestRecorder {
  const { requestId = 'r', correlationId = '', surface = 'chat', trace, startedAt = clock.now() } = given;
  const { begun = clock.elapsed() } = given;
  const recorder = recordRequest({ requestId, correlationId, surface, trace, startedAt, begun }, clock);
  stories.began(recorder.record);
  return {
    ...recorder,
    progress: (progress) => {
      recorder.progress(progress);
      if (progress.kind === 'ended') stories.ended(recorder.record);
    },
  };
}
