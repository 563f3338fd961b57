import { join } from 'node:path';
import { reasonOf, textOf } from '../../core/call-service.ts';
import type { KeyStatus } from '../../core/account.ts';
import { parseJson } from '../../core/json.ts';
import { readOpsAddresses } from '../../process/ops-addresses.ts';
import { readSome } from '../../process/settings/read-settings.ts';
import { portalSettingsSchema } from '../../process/settings/settings.ts';
import type { Answer } from './accounts-command.ts';
import { dataFolder } from './services-asked.ts';

const timeoutMs = 10_000;
const maxBytes = 65_536;

/**
 * Sets the status of a key through the portal of the data folder, which tells the services. For the time in which the
 * database cannot be opened: throws `cause`, if no portal runs here.
 */
export async function overrideByPortal(
  { id, status, data }: { readonly id: string; readonly status: KeyStatus; readonly data: string | undefined },
  cause: unknown,
): Promise<Answer> {
  const folder = dataFolder(data);
  const [portal] = readOpsAddresses(folder, 'portal');
  if (portal === undefined) throw cause;
  const { readAdminToken } = await import('../../portal/secrets.ts');
  const { overriddenKey } = await import('../../portal/api/keys.ts');
  const { WEIR_ADMIN_TOKEN_FILE: given } = readSome(
    process.env,
    portalSettingsSchema.pick({ WEIR_ADMIN_TOKEN_FILE: true }),
  );
  const response = await fetch(`${portal}/api/v1/keys/${encodeURIComponent(id)}/override`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${readAdminToken(given ?? join(folder, 'admin-token'), 'refuse')}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ status }),
    signal: AbortSignal.timeout(timeoutMs),
  }).catch((error: unknown) => {
    throw new Error(`The portal at ${portal} does not answer: ${reasonOf(error)}.`, { cause });
  });
  const text = await textOf(response, maxBytes);
  const { data: result } = overriddenKey.safeParse(parseJson(text));
  if (result === undefined) throw new Error(`The portal at ${portal} answered ${response.status}: ${text}`, { cause });
  const held = result.services.filter(({ answers }) => answers).length;
  const where = result.stored
    ? 'It is in the database.'
    : `${held} of ${result.services.length} services hold it in their memory; the portal writes it when the database is back.`;
  const isHeld = result.stored || (held > 0 && held === result.services.length);
  return { json: result, text: `The key ${id} is ${status}. ${where}`, ...(!isHeld && { exitCode: 1 }) };
}
