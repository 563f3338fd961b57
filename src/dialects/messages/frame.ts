/** One server-sent event. Clients go by its name and pass over data without one (docs/reference/engines.md §2). `fields` is JSON without braces. */
export const frame = (type: string, fields: string): string =>
  `event: ${type}\ndata: {"type":"${type}"${fields === '' ? '' : ','}${fields}}\n\n`;
