import type { UseInfiniteQueryResult } from '@tanstack/react-query';
import { Button } from './button.tsx';

/** The button for the next page of a list, while there is one. */
export function More({ list }: { readonly list: UseInfiniteQueryResult }) {
  if (!list.hasNextPage) return null;
  return (
    <div className="actions" style={{ justifyContent: 'center' }}>
      <Button isDisabled={list.isFetchingNextPage} onPress={() => void list.fetchNextPage()}>
        {list.isFetchingNextPage ? 'Loading …' : 'Show more'}
      </Button>
    </div>
  );
}
