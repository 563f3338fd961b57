import type { Key } from '../../core/account.ts';
import { allowsModel } from '../../core/model-patterns.ts';
import { readOpsAddresses } from '../../process/ops-addresses.ts';
import { dataFolder } from './services-asked.ts';

/** Where clients reach the models, as far as a command can find out. */
export interface OwnGateway {
  /** With `/v1`. */
  readonly baseUrl: string;
  /** A model that the key may call; undefined where none is known. */
  readonly model: string | undefined;
}

const timeoutMs = 2_000;

/**
 * Finds the gateway that runs with this data folder (`weir start`), and a model there that the key may call.
 * WEIR_PUBLIC_URL sets the address for clients. Undefined: no gateway runs here, and no address is configured.
 */
export async function findOwnGateway(
  data: string | undefined,
  { models }: Pick<Key, 'models'>,
): Promise<OwnGateway | undefined> {
  const publicUrl = process.env['WEIR_PUBLIC_URL'] ?? '';
  const [origin] = readOpsAddresses(dataFolder(data), 'gateway');
  const local = origin === undefined ? undefined : `${origin}/v1`;
  const ids = local === undefined ? undefined : await modelsAt(local);
  const model = ids?.find((id) => allowsModel(models, id));
  if (publicUrl !== '') return { baseUrl: publicUrl.replace(/\/$/, ''), model };
  // A gateway that was killed leaves its address behind.
  return local === undefined || ids === undefined ? undefined : { baseUrl: local, model };
}

/** Asked without the key, because another program may have the port of a gateway that was killed. */
async function modelsAt(baseUrl: string): Promise<readonly string[] | undefined> {
  // The client is loaded here only: loading it takes longer than the other commands on keys.
  const { createModelsClient } = await import('../../local/listed-models.ts');
  const client = createModelsClient();
  try {
    const answer = await client.ask(baseUrl, AbortSignal.timeout(timeoutMs));
    return answer.kind === 'listed' ? answer.ids : [];
  } catch {
    return undefined;
  } finally {
    await client.close();
  }
}
