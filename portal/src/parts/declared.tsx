import type { KeyObject } from '../../../src/portal/api/keys.ts';

/** The object that declares a workspace, a key or an identity. Changes are refused here while the object manages it. */
export function Declared({ by }: { readonly by: KeyObject['declared_by'] }) {
  if (by === null) return null;
  return (
    <span className="small muted">
      {by.locked ? 'Managed by' : 'Declared by'} {by.kind} {by.namespace}/{by.name}
    </span>
  );
}
