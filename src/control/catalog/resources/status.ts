import * as z from 'zod';
import { instant } from './fields.ts';
import { conditionStatuses } from '../../core/live-catalog.ts';

/** The conditions of a Model. Each condition comes after the conditions that it depends on. */
const modelConditionTypes = ['Accepted', 'Servable', 'SameVectors', 'Priced', 'Listed', 'Retiring'] as const;
export type ModelConditionType = (typeof modelConditionTypes)[number];

const backendConditionTypes = ['Accepted', 'Programmed', 'Healthy'] as const;
export type BackendConditionType = (typeof backendConditionTypes)[number];

/** The limit of Kubernetes' own `metav1.Condition`. A longer message must be cut before it is written. */
export const maxMessageLength = 32_768;
const maxReasonLength = 1024;

const generation = z.int().min(0).max(Number.MAX_SAFE_INTEGER);

/**
 * One condition, field for field Kubernetes' `metav1.Condition`. The type is no enumeration here: a later version may
 * add one, and its status must stay readable after a downgrade.
 */
const condition = z.strictObject({
  type: z
    .string()
    .max(316)
    .regex(/^[A-Z][A-Za-z0-9]*$/, 'expected a name such as "Accepted"')
    .meta({ description: 'Type of the condition; each type occurs once.', example: 'Accepted' }),
  status: z.enum(conditionStatuses).meta({ description: 'Whether the condition is true.', example: 'True' }),
  observedGeneration: generation.meta({ description: 'Generation of the checked object.', example: 3 }),
  lastTransitionTime: instant.meta({
    description: 'When the condition last changed its status.',
    example: '2026-06-01T00:00:00Z',
  }),
  reason: z
    .string()
    .min(1)
    .max(maxReasonLength)
    .regex(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/, 'expected one word such as "BackendNotFound"')
    .meta({ description: 'Reason in one word, for programs.', example: 'BackendNotFound' }),
  message: z.string().max(maxMessageLength).meta({
    description: 'Reason for people; it begins with the faulty field.',
    example: 'spec.routes[0].backend: expected a Backend, there is none named "vllm-a"',
  }),
});
export type Condition = z.output<typeof condition>;

/** The API server merges them by type, so that a writer of one condition owns that condition alone. */
export const conditions = z
  .array(condition)
  .max(16)
  .meta({
    description: 'Conditions of the object now.',
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['type'],
  });

export const observedGeneration = generation.meta({
  description:
    'Generation of the object to which this status applies. If it is older than metadata.generation, the status is out of date.',
  example: 3,
});

const routesReady = z.strictObject({
  ready: z.int().min(0).max(64).meta({ description: 'Routes that can take a request now.', example: 2 }),
  total: z.int().min(0).max(64).meta({ description: 'Routes in the spec.', example: 3 }),
  summary: z
    .string()
    .max(16)
    .meta({ description: 'Both as text, for `kubectl get`, which cannot join two fields.', example: '2/3' }),
});

const maxEndpoints = 1_000_000;

const endpointCounts = z.strictObject({
  total: z.int().min(0).max(maxEndpoints).meta({ description: 'Number of endpoints, healthy or not.', example: 8 }),
  healthy: z.int().min(0).max(maxEndpoints).meta({
    description: 'Endpoints that pass the health check, if any, and without recent failed requests.',
    example: 7,
  }),
  summary: z
    .string()
    .max(32)
    .meta({ description: 'Both as text, for `kubectl get`, which cannot join two fields.', example: '7 of 8' }),
});

/** The `status` of a Model. Only the elected leader writes it. */
export const modelStatus = z.strictObject({
  observedGeneration: observedGeneration.optional(),
  conditions: conditions.optional(),
  routes: routesReady.optional().meta({ description: 'Number of routes that can take a request now.' }),
  retireAt: instant.optional().meta({
    description: 'Effective retirement date: spec.retireAt or the deletion, but never before the end of the notice.',
    example: '2027-01-31T00:00:00Z',
  }),
  announcedAt: instant.optional().meta({
    description: 'Time of the announcement, the start of the 14-day notice.',
    example: '2027-01-10T00:00:00Z',
  }),
  announcedFor: instant.optional().meta({
    description:
      'The spec.retireAt of announcedAt. An earlier date starts a new announcement. Absent after a deletion.',
    example: '2027-01-31T00:00:00Z',
  }),
});

/** The `status` of a Backend. Only the elected leader writes it. */
export const backendStatus = z.strictObject({
  observedGeneration: observedGeneration.optional(),
  conditions: conditions.optional(),
  endpoints: endpointCounts
    .optional()
    .meta({ description: 'Number of endpoints, and of endpoints that are healthy in every replica.' }),
});
