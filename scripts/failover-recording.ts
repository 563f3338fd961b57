import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

const milliseconds = z.number().nonnegative();

const failoverRecordingSchema = z.strictObject({
  /** The caller's question. */
  question: z.string(),
  /** The answer's text as it reached the caller, piece by piece. Times begin with the request. */
  pieces: z.array(z.strictObject({ atMs: milliseconds, text: z.string() })).min(2),
  /** When SIGKILL was sent to engine A. */
  killedAtMs: milliseconds,
  /** Number of pieces that came from engine A. */
  fromA: z.int().positive(),
  finishReason: z.string(),
  endedAtMs: milliseconds,
  /** What `weir explain` said of the attempts and of the bill. */
  attempts: z.array(z.string()).length(2),
  bill: z.string(),
});

/** One answer during which its engine was killed, as `npm run pictures` recorded it. */
export type FailoverRecording = z.infer<typeof failoverRecordingSchema>;

export const recordingPath = join(import.meta.dirname, '..', 'docs', 'pictures', 'failover.recording.json');

export function readRecording(): FailoverRecording {
  return failoverRecordingSchema.parse(JSON.parse(readFileSync(recordingPath, 'utf8')));
}
