import { useCallback, useMemo } from 'react';
import { useSearchParams } from 'wouter';

type Selection = Readonly<Record<string, string | undefined>>;

/**
 * What is selected on a page, kept in the query of the address, so that it can be sent to somebody and outlives a reload. The second
 * part changes some of it; undefined takes a part away.
 */
export function useAddress(): readonly [Selection, (change: Selection) => void] {
  const [search, setSearch] = useSearchParams();
  const selection = useMemo(() => Object.fromEntries(search), [search]);
  const change = useCallback(
    (given: Selection) => {
      setSearch(
        (before) => {
          const after = new URLSearchParams(before);
          for (const [name, value] of Object.entries(given)) {
            if (value === undefined || value === '') after.delete(name);
            else after.set(name, value);
          }
          return after;
        },
        { replace: true },
      );
    },
    [setSearch],
  );
  return [selection, change];
}
