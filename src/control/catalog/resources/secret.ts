import * as z from 'zod';
import { metadata, objectName, shaped } from './fields.ts';

const keyName = shaped(z.string().min(1).max(253), /^[-._a-zA-Z0-9]+$/, 'expected letters, digits, "-", "_" and "."');

/** One key of a Secret. */
export const secretRef = z.strictObject({
  name: objectName.meta({ description: 'Name of the Secret.', example: 'vllm-a' }),
  key: keyName.meta({ description: 'Key inside the Secret.', example: 'token' }),
});
/** One key of a ConfigMap. */
export const configMapRef = z.strictObject({
  name: objectName.meta({ description: 'Name of the ConfigMap.', example: 'company-ca' }),
  key: keyName.meta({ description: 'Key inside the ConfigMap.', example: 'ca.crt' }),
});

/** A Secret of the type kubernetes.io/tls, as a whole. */
export const keyPairRef = z.strictObject({
  name: objectName.meta({ description: 'Name of the Secret.', example: 'vllm-a-client' }),
});
/** The keys of a Secret of the type kubernetes.io/tls. */
export const keyPairKeys = { certificate: 'tls.crt', key: 'tls.key' } as const;

/** One key of a Secret or ConfigMap. */
export interface ValueRef {
  readonly kind: 'Secret' | 'ConfigMap';
  readonly name: string;
  readonly key: string;
}

/** Kubernetes refuses a Secret above 1 MiB. */
const maxSecretCharacters = 1_048_576;

/** A group for every four characters would take a stack that grows with the text. */
const oneLine = /^[A-Za-z0-9+/]*={0,2}$/;
const base64 = z
  .string()
  .max(maxSecretCharacters * 2)
  .refine((text) => text.length % 4 === 0 && oneLine.test(text), 'expected base64 on one line');

/**
 * A core v1 Secret, in manifest folders only: in Kubernetes the API server owns the kind. No message about a Secret may
 * contain one of its values.
 */
export const secretSchema = z.strictObject({
  apiVersion: z.literal('v1'),
  kind: z.literal('Secret'),
  metadata,
  type: z.string().max(253).nullish(),
  immutable: z.boolean().nullish(),
  data: z.record(keyName, base64).nullish(),
  stringData: z.record(keyName, z.string().max(maxSecretCharacters)).nullish(),
});
export type SecretObject = z.output<typeof secretSchema>;

/** A core v1 ConfigMap, in manifest folders only. */
export const configMapSchema = z.strictObject({
  apiVersion: z.literal('v1'),
  kind: z.literal('ConfigMap'),
  metadata,
  immutable: z.boolean().nullish(),
  data: z.record(keyName, z.string().max(maxSecretCharacters)).nullish(),
  binaryData: z.record(keyName, base64).nullish(),
});
export type ConfigMapObject = z.output<typeof configMapSchema>;
