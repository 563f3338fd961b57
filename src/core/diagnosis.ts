/** What `weir doctor` finds about one endpoint of a Backend. */
import * as z from 'zod';

const check = z.object({
  check: z.string().meta({ description: 'The check, and its model.' }),
  /** `bad`: it contradicts the manifest, or no request can succeed. `unclear`: the engine does not tell. */
  found: z.enum(['good', 'bad', 'unclear']),
  note: z.string(),
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
