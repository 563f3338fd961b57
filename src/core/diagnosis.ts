/** What `weir doctor` finds about one endpoint of a Backend. */
import * as z from 'zod';

const streamSpeed = z.object({
  first_token_ms: z.number(),
  tokens_per_second: z
    .number()
    .nullable()
    .meta({ description: 'null: the engine counts no tokens, or sent all at once' }),
});
export type StreamSpeed = Readonly<z.output<typeof streamSpeed>>;

const check = z.object({
  check: z.string().meta({ description: 'The check, and its model.' }),
  /**
   * `bad`: it contradicts the manifest, or no request can succeed. `unclear`: the engine does not tell. `slow`: it is
   * good, and much slower than at other endpoints of the Backend.
   */
  found: z.enum(['good', 'bad', 'unclear', 'slow']),
  note: z.string(),
  /** Only of a stream that is good. */
  speed: streamSpeed.optional(),
});
export type Check = Readonly<z.output<typeof check>>;

const diagnosis = z.object({
  backend: z.string(),
  /** `address:port`. Null: there is none to ask. */
  endpoint: z.string().nullable(),
  checks: z.array(check),
});
export type Diagnosis = Readonly<z.output<typeof diagnosis>>;

/** The answer to `GET /internal/doctor` and `…/doctor/BACKEND`. `error`: nothing was examined, and why. */
export const diagnosesSchema = z.object({ diagnoses: z.array(diagnosis).optional(), error: z.string().optional() });

/** What `weir doctor` is asked. */
export interface DoctorQuestion {
  /** Undefined: all. */
  readonly backend: string | undefined;
  readonly depth: 'usual' | 'deep';
}
