import { existsSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { findAccess } from '../../control/kubernetes/access.ts';
import { createKubeClient, isRefusal, sentenceOf } from '../../control/kubernetes/client.ts';
import { placeOf } from '../../control/kubernetes/objects.ts';
import { messageOf } from '../../core/failure.ts';
import { refusal } from '../../books/core/operator-refusals.ts';

/** The namespace that the catalog is read from. */
interface KubernetesPlace {
  readonly namespace: string;
  /** Whether it has Models now. */
  readonly hasModels: boolean;
}

const list = z.object({ items: z.array(z.unknown()) });

/**
 * Finds the cluster and looks for its Models. The default namespace is that of the current context, else `default`.
 * Throws a Refusal if there is no cluster or the cluster lacks our kinds. A cluster that does not answer is accepted
 * if its last catalog is on disk.
 */
export async function findKubernetes(
  namespaceGiven: string | undefined,
  options: { readonly data: string; readonly report: (line: string) => void },
): Promise<KubernetesPlace> {
  const access = readAccess();
  const namespace = namespaceGiven ?? access.namespace ?? 'default';
  const client = createKubeClient(access);
  try {
    const found: unknown = await client.objects.listNamespacedCustomObject({
      ...placeOf('Model', namespace),
      limit: 1,
    });
    return { namespace, hasModels: list.parse(found).items.length > 0 };
  } catch (error) {
    if (isRefusal(error, 404)) {
      throw refusal('kinds_not_installed', { server: access.server });
    }
    const refused = refusal('cluster_not_read', { server: access.server, namespace, reason: sentenceOf(error) });
    const isAnswer = isRefusal(error, 400, 401, 403);
    if (isAnswer || !existsSync(join(options.data, 'catalog.json'))) throw refused;
    options.report(`${refused.message} Weir serves its last catalog until it is back.`);
    return { namespace, hasModels: true };
  } finally {
    await client.close();
  }
}

function readAccess(): ReturnType<typeof findAccess> {
  try {
    return findAccess(process.env);
  } catch (error) {
    throw refusal('cluster_not_found', { reason: messageOf(error) }, { cause: error });
  }
}
