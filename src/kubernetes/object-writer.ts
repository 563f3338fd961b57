import type { KubeObject } from '../core/catalog.ts';
import type { KubeClient } from './client.ts';

export interface ObjectWriter {
  /** Merges into the status of the object of this name. Rejects with ApiError: 404 when it is gone. */
  readonly status: (object: KubeObject, status: object) => Promise<void>;
  /** Rejects with ApiError: 404 when it is gone, 409 when it has changed. */
  readonly finalizers: (object: KubeObject, finalizers: readonly string[]) => Promise<void>;
}

export function createObjectWriter(client: KubeClient, namespace: string): ObjectWriter {
  const pathOf = ({ kind, name }: KubeObject): string =>
    `/apis/weir.dev/v1alpha1/namespaces/${namespace}/${kind.toLowerCase()}s/${name}`;
  const patch = async (path: string, body: object): Promise<void> => {
    await client.call('PATCH', `${path}?fieldManager=weir-controller`, { patch: 'merge-patch+json', body });
  };
  return {
    // With its uid: an object that was made anew under the same name has not been judged.
    status: (object, status) => patch(`${pathOf(object)}/status`, { metadata: { uid: object.uid }, status }),
    finalizers: (object, finalizers) =>
      patch(pathOf(object), { metadata: { resourceVersion: object.resourceVersion, finalizers } }),
  };
}
