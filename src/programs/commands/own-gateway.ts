import type { Key } from '../../core/account.ts';
import { allowsModel } from '../../core/model-patterns.ts';
import { askForModels } from '../local/listed-models.ts';
import { readOpsAddresses } from '../../process/ops-addresses.ts';
import { dataFolder } from './services-asked.ts';
import { readSome } from '../../process/settings/read-settings.ts';
import { portalSettingsSchema } from '../../process/settings/settings.ts';

/** Where clients reach the models, as far as a command can find out. */
export interface OwnGateway {
  /** With `/v1`. */
  readonly baseUrl: string;
  /** A model that the key may call. Undefined: no such model is known. */
  readonly model: string | undefined;
}

const timeoutMs = 2_000;

/** The address for clients that WEIR_PUBLIC_URL sets. Throws for a bad address, so call it before a key is made. */
export function readPublicUrl(): string | undefined {
  return readSome(process.env, portalSettingsSchema.pick({ WEIR_PUBLIC_URL: true })).WEIR_PUBLIC_URL;
}

/**
 * Finds the gateway that runs with this data folder (`weir start`), and a model there that the key may call.
 * `publicUrl` replaces its address. Undefined: no gateway runs here, and no address is configured.
 */
export async function findOwnGateway(
  { data, publicUrl }: { readonly data: string | undefined; readonly publicUrl: string | undefined },
  { models }: Pick<Key, 'models'>,
): Promise<OwnGateway | undefined> {
  const [origin] = readOpsAddresses(dataFolder(data), 'gateway');
  const local = origin === undefined ? undefined : `${origin}/v1`;
  const ids = local === undefined ? undefined : await modelsAt(local);
  const model = ids?.find((id) => allowsModel(models, id));
  if (publicUrl !== undefined) return { baseUrl: publicUrl.replace(/\/$/, ''), model };
  // A gateway that was killed leaves its address behind.
  return local === undefined || ids === undefined ? undefined : { baseUrl: local, model };
}

/**
 * The models that a gateway lists. The request has no key, because another program may have the port of a gateway that
 * was killed.
 */
async function modelsAt(baseUrl: string): Promise<readonly string[] | undefined> {
  try {
    const answer = await askForModels(baseUrl, AbortSignal.timeout(timeoutMs));
    return answer.kind === 'listed' ? answer.ids : [];
  } catch {
    return undefined;
  }
}
