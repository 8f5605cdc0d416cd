# needs: java
cat > H.java <<'JAVA'
class H {
    public static void main(String[] words) {
        System.out.println(6 * 7);
        System.exit(4);
    }
}
JAVA
java -XX:-UsePerfData H.java
echo rc=$?
