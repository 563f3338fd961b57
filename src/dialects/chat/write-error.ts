import type { Feature } from '../../core/capability.ts';
import { errorBody, type Failure } from '../../core/failure.ts';

/** What callers of this surface call a part of their request: engines' names are its names. */
export const fieldName = (feature: Feature): string => (feature === 'reasoning' ? 'reasoning_effort' : feature);

/** The envelope of every error (docs/reference/api.md §2.5). */
export const writeError = (failure: Failure): string => JSON.stringify({ error: errorBody(failure, fieldName) });
