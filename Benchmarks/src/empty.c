// A library with nothing in it: what loading and calling cost by themselves.
int bench_empty(void *, void *, void *);
int bench_empty(void *first, void *second, void *third) {
  (void)first, (void)second, (void)third;
  return 0;
}
