import type { OutcomeKind } from '../../core/settled-request.ts';

/** Requests that broke off or failed through no fault of their caller: the errors of usage. */
export const errorKinds = ['interrupted', 'incomplete', 'failed', 'service-lost'] as const satisfies OutcomeKind[];
