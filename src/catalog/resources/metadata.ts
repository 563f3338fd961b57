import * as z from 'zod';
import { fields } from './fields.ts';
import { instant } from './instant.ts';
import { shaped } from './rules.ts';

/** Name of an object, as Kubernetes has it (RFC 1123 subdomain). */
export const objectName = shaped(
  z.string().min(1).max(253),
  /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/,
  'expected lowercase letters, digits, "-" and ".", beginning and ending with a letter or digit',
);

const textMap = z.record(z.string().max(317), z.string().max(262_144));

/**
 * The object's metadata. Only `name`, `creationTimestamp` and `annotations` mean something here; the others are
 * those that Kubernetes adds, so that the output of `kubectl get -o yaml` can be used as a manifest.
 * A gateway reads one namespace, so `namespace` takes no part in references.
 */
export const metadata = fields({
  name: objectName.describe('Name of the object; references use it. Example: vllm-a.'),
  namespace: objectName.optional(),
  labels: textMap.nullish(),
  annotations: textMap.nullish(),
  creationTimestamp: instant.nullish(),
  generateName: z.unknown().optional(),
  uid: z.unknown().optional(),
  resourceVersion: z.unknown().optional(),
  generation: z.unknown().optional(),
  selfLink: z.unknown().optional(),
  deletionTimestamp: z.unknown().optional(),
  deletionGracePeriodSeconds: z.unknown().optional(),
  finalizers: z.unknown().optional(),
  ownerReferences: z.unknown().optional(),
  managedFields: z.unknown().optional(),
});
