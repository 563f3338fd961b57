import * as z from 'zod';
import type { AccountObject } from '../../books/core/declared-account.ts';
import { type KeySecrets, SecretRefused } from '../core/key-secrets.ts';
import { ApiError, isRefusal, type KubeClient, mergePatch } from './client.ts';
import { cutName } from './objects.ts';

const entry = 'key';
const maxLabelLength = 63;

const rawSecret = z.object({
  metadata: z.object({
    resourceVersion: z.string(),
    ownerReferences: z
      .array(
        z.object({ apiVersion: z.string(), kind: z.string(), name: z.string(), controller: z.boolean().nullish() }),
      )
      .nullish(),
  }),
  data: z.record(z.string(), z.string()).nullish(),
});

export function createKeySecrets({ core }: Pick<KubeClient, 'core'>): KeySecrets {
  return {
    read: async ({ namespace, name: owner }, name) => {
      try {
        const { metadata, data } = rawSecret.parse(await core.readNamespacedSecret({ namespace, name }));
        // By name and not by uid: the object may have been made again, or restored with its Secret.
        const isOurs = (metadata.ownerReferences ?? []).some(
          (one) => isOurApi(one.apiVersion) && one.kind === 'ApiKey' && one.name === owner && one.controller === true,
        );
        const encoded = data?.[entry];
        return { resourceVersion: metadata.resourceVersion, isOurs, text: encoded && textOf(encoded) };
      } catch (error) {
        if (isRefusal(error, 404)) return undefined;
        throw error;
      }
    },
    create: async (object, name, text) => {
      const { namespace } = object;
      const body = {
        metadata: {
          name,
          namespace,
          labels: { 'weir.dev/api-key': cutName(object.name, maxLabelLength) },
          ownerReferences: [ownerOf(object)],
        },
        type: 'Opaque',
        stringData: { [entry]: text },
      };
      return done(core.createNamespacedSecret({ namespace, body }), text);
    },
    replace: async (object, { name, resourceVersion }, text) => {
      // The version makes it fail if the Secret is another one by now.
      const metadata = { resourceVersion, ownerReferences: [ownerOf(object)] };
      const body = { metadata, data: { [entry]: btoa(text) } };
      return done(core.patchNamespacedSecret({ namespace: object.namespace, name, body }, mergePatch), text);
    },
  };
}

/** Refusals that another attempt may not meet: of the service's own access, and of a busy server. */
const passingRefusals = [401, 408, 429];
const maxWhyLength = 300;

/** Whether a write was made. A conflict is no error: the next reconciliation reads what is there. */
async function done(writing: Promise<unknown>, text: string): Promise<boolean> {
  try {
    await writing;
    return true;
  } catch (error) {
    if (isRefusal(error, 404, 409)) return false;
    const isFinal = error instanceof ApiError && error.status < 500 && !passingRefusals.includes(error.status);
    if (!isFinal) throw error;
    // A webhook may repeat what it has refused.
    const why = error.message.replaceAll(text, '…').replaceAll(btoa(text), '…');
    throw new SecretRefused(why.slice(0, maxWhyLength), { cause: error });
  }
}

/** Other projects have a kind of this name, too. */
const isOurApi = (apiVersion: string): boolean => apiVersion.startsWith('weir.dev/');

/** With it, the cluster removes the Secret after its ApiKey. */
function ownerOf({ name, uid }: Pick<AccountObject, 'name' | 'uid'>) {
  return { apiVersion: 'weir.dev/v1alpha1', kind: 'ApiKey', name, uid, controller: true, blockOwnerDeletion: false };
}

function textOf(encoded: string): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(encoded, 'base64')).trim();
  } catch {
    return undefined;
  }
}
