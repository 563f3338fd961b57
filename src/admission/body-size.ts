import type { RequestHead } from '../core/exchange.ts';
import { Failure } from '../core/failure.ts';

/** Largest request body, bytes: 32 MiB (docs/reference/api.md §4.1.3). */
export const maxBodyBytes = 33_554_432;

/** Refuses a body that says it is too large before any of it is read. Throws `body_too_large`. */
export function checkDeclaredSize(head: RequestHead): void {
  const declared = head.header('content-length');
  if (declared !== undefined && Number(declared) > maxBodyBytes) {
    throw new Failure('body_too_large', `Request body is over ${maxBodyBytes} bytes.`);
  }
}
