import type { ModelObject } from '../../../src/portal/api/catalog.ts';
import { codeOf, firstRequest } from '../data/chat-code.ts';
import { useGatewayUrl } from '../data/session.ts';
import { CodeTabs } from '../parts/code-tabs.tsx';

/** How to call a model from a shell and from two languages. */
export function CallExamples({ model }: { readonly model: Pick<ModelObject, 'id' | 'kind'> }) {
  const url = useGatewayUrl();
  return <CodeTabs of={model.id} examples={codeOf(firstRequest(model), { url })} />;
}
