import type { ListedRequestObject } from '../../../src/portal/api/requests.ts';
import type { Tone } from '../parts/states.tsx';

/** An outcome as a word. */
export const outcomes: Readonly<
  Record<ListedRequestObject['outcome'], { readonly word: string; readonly tone: Tone }>
> = {
  completed: { word: 'Completed', tone: 'good' },
  cancelled: { word: 'Cancelled', tone: 'none' },
  interrupted: { word: 'Interrupted', tone: 'bad' },
  incomplete: { word: 'Incomplete', tone: 'warn' },
  failed: { word: 'Failed', tone: 'bad' },
  'service-lost': { word: 'Service lost', tone: 'bad' },
  refused: { word: 'Refused', tone: 'warn' },
};
