import type { errorKinds } from '../../../src/books/core/error-kinds.ts';
import type { ListedRequestObject } from '../../../src/portal/api/requests.ts';
import type { Tone } from '../parts/states.tsx';

type OutcomeName = ListedRequestObject['outcome'];

/** An outcome as a word. `isError`: usage counts it as an error. */
export const outcomes: {
  readonly [Name in OutcomeName]: {
    readonly word: string;
    readonly tone: Tone;
    readonly isError: Name extends (typeof errorKinds)[number] ? true : false;
  };
} = {
  completed: { word: 'Completed', tone: 'good', isError: false },
  cancelled: { word: 'Cancelled', tone: 'none', isError: false },
  interrupted: { word: 'Interrupted', tone: 'bad', isError: true },
  incomplete: { word: 'Incomplete', tone: 'warn', isError: true },
  failed: { word: 'Failed', tone: 'bad', isError: true },
  'service-lost': { word: 'Service lost', tone: 'bad', isError: true },
  refused: { word: 'Refused', tone: 'warn', isError: false },
};
