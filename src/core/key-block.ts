import * as z from 'zod';
import { keyStatuses } from './account.ts';

/** The status of a key that an operator set while the database was down. Body of `PUT /internal/key-blocks`. */
export const keyBlockSchema = z.object({
  keyId: z.string().regex(/^\w{1,64}$/),
  status: z.enum(keyStatuses),
  /** When it was set, milliseconds since the Unix epoch. A later one replaces an earlier one. */
  at: z.int().min(0),
});
export type KeyBlock = Readonly<z.infer<typeof keyBlockSchema>>;
