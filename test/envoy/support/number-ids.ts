/** Tool call ids are new with each answer: they are numbered in the order in which they come, if they are ours. */
export function numberIds<T>(answer: T): T {
  const ids = new Map<string, string>();
  const numbered = JSON.stringify(answer).replaceAll(/(?:call|toolu)_[\w-]{22,}/g, (id) => {
    if (!ids.has(id)) ids.set(id, `call number ${ids.size}`);
    return ids.get(id) ?? '';
  });
  return JSON.parse(numbered) as T;
}
