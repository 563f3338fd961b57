import { errorAnswer } from './api/values.ts';

/** Errors that every route may answer. */
export const errors = {
  400: errorAnswer,
  401: errorAnswer,
  403: errorAnswer,
  404: errorAnswer,
  409: errorAnswer,
  429: errorAnswer,
  500: errorAnswer,
  502: errorAnswer,
  503: errorAnswer,
} as const;

/** A page of a list, in the form of the API. */
export function pageAnswer<Item, Shown>(
  { items, next }: { readonly items: readonly Item[]; readonly next: string | undefined },
  show: (item: Item) => Shown,
): { data: Shown[]; next_cursor: string | null } {
  return { data: items.map(show), next_cursor: next ?? null };
}
