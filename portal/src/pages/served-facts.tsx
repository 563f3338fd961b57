import type { ChatUsage } from '../data/chat.ts';
import { speedOf, useServed } from '../data/served.ts';
import { formatCount, formatMoney, formatMs, formatSpeed, orUnknown } from '../format/format.ts';
import { type Fact, Facts } from '../parts/page.tsx';

interface ServedFactsProps {
  readonly requestId: string;
  readonly hasEnded: boolean;
  /** At the end of a whole answer. It is the bill's, and known before the row is written. */
  readonly usage?: ChatUsage | undefined;
  /** A request for vectors has no output tokens. */
  readonly of?: 'answer' | 'vectors';
}

/** Times, tokens and cost of a request, as the service measured and billed them. Also of a request that was stopped. */
export function ServedFacts({ requestId, hasEnded, usage, of = 'answer' }: ServedFactsProps) {
  const served = useServed(requestId, hasEnded);
  const ofAnswer: readonly Fact[] = [
    { name: 'Time to first token', value: orUnknown(served?.first_token_ms, formatMs) },
    { name: 'Speed', value: orUnknown(served && speedOf(served), formatSpeed) },
    { name: 'Output tokens', value: orUnknown((served ?? usage)?.completion_tokens, formatCount) },
  ];
  return (
    <Facts
      facts={[
        { name: 'Cost', value: orUnknown((served ?? usage)?.cost, formatMoney) },
        ...(of === 'answer' ? ofAnswer : [{ name: 'Time', value: orUnknown(served?.duration_ms, formatMs) }]),
        { name: 'Prompt tokens', value: orUnknown((served ?? usage)?.prompt_tokens, formatCount) },
      ]}
    />
  );
}
